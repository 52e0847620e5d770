package runs

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewTimeline returns the command timeline.
func NewTimeline(a *cli.App) *cobra.Command {
	past, next := cli.Duration(12*time.Hour), cli.Duration(12*time.Hour)
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "timeline [JOB...] [--past D] [--next D]",
		Short: "Draw what ran and what will run, on one axis",
		Long: `Draw what ran and what will run, on one axis with now in between: a line for each
job, above them how many of all jobs start, and below the fullest minute to come.
Without JOB the worst 40 are drawn.`,
		Example: "  cronring report timeline\n  cronring report timeline 'etl*' --past 2d --next 0s",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			client := a.Daemon()
			refs, err := timelineRefs(cmd.Context(), a, client, args)
			if err != nil {
				return err
			}
			line, err := client.Timeline(cmd.Context(), timelineQuery(a, refs, time.Duration(past), time.Duration(next), loc))
			if err != nil {
				return err
			}
			return printTimeline(a, line, out, loc)
		},
	}
	cmd.Flags().Var(&past, "past", "how much history to show: `D`")
	cmd.Flags().Var(&next, "next", "how far to look ahead: `D`")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormPlain, cli.FormJSON)
	a.AddSelection(cmd, out, api.Timeline{})
	a.AddZone(cmd, "of the axis")
	a.AddColor(cmd)
	return cmd
}

// timelineRefs returns the jobs to draw.
func timelineRefs(ctx context.Context, a *cli.App, client *api.Client, refs []string) ([]string, error) {
	const mostJobs = 40
	if len(refs) > 0 {
		return refs, nil
	}
	jobs, err := client.List(ctx, api.Query{})
	if err != nil {
		return nil, err
	}
	if len(jobs) > mostJobs {
		a.Infof("%d of %d jobs are drawn; name others", mostJobs, len(jobs))
	}
	for _, j := range jobs[:min(mostJobs, len(jobs))] {
		refs = append(refs, string(j.Job.ID))
	}
	return refs, nil
}

// The widths of the columns beside the axis, and of the axis if the terminal's width is
// unknown.
const (
	timelineName  = 18
	timelineNext  = 8
	timelineWidth = 80
)

// timelineQuery divides the time into cells of a round length that fit beside names and
// next runs.
func timelineQuery(a *cli.App, refs []string, past, next time.Duration, loc *time.Location) api.TimelineQuery {
	room := max(10, cmp.Or(a.Width, timelineWidth)-timelineName-timelineNext-4)
	cell := time.Minute
	for _, cell = range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
		2 * 24 * time.Hour, 7 * 24 * time.Hour,
	} {
		if (past+next)/cell < time.Duration(room) {
			break
		}
	}
	_, offset := a.Now().In(loc).Zone()
	shift := time.Duration(offset) * time.Second
	from := a.Now().Add(-past).Add(shift).Truncate(cell).Add(-shift)
	cells := int((a.Now().Add(next).Sub(from) + cell - 1) / cell)
	return api.TimelineQuery{Refs: refs, From: from, To: from.Add(time.Duration(max(1, cells)) * cell), Cells: max(1, cells)}
}

func printTimeline(a *cli.App, line api.Timeline, out *cli.Output, loc *time.Location) error {
	return a.PrintAnswer(out, line, func() {
		if out.Value == cli.FormPlain {
			a.PrintTable(timelineTable(line, loc), out)
		} else {
			newAxis(a, line, loc).print()
		}
	})
}

// timelineTable returns a time line for programs, with a row for each cell that is not
// empty.
func timelineTable(line api.Timeline, loc *time.Location) *cli.Table {
	t := &cli.Table{Header: []string{"job", "cell", "kind", "count", "due", "run"}}
	for _, j := range line.Jobs {
		for _, c := range j.Cells {
			run := ""
			if c.Run != 0 {
				run = c.Run.String()
			}
			begin := line.From.Add(line.To.Sub(line.From) / time.Duration(line.Cells) * time.Duration(c.Cell))
			t.Add(string(j.Job), cli.FormatPlain(begin, loc), string(c.Kind), strconv.Itoa(c.Count), cli.FormatPlain(c.Due, loc), run)
		}
	}
	return t
}

// axis is a time line as it is drawn.
type axis struct {
	a    *cli.App
	line api.Timeline
	loc  *time.Location
	now  int // the cell that begins at or after now
	bar  string
}

func newAxis(a *cli.App, line api.Timeline, loc *time.Location) *axis {
	x := &axis{a: a, line: line, loc: loc, bar: cli.Sign("│", "|")}
	x.now = max(0, min(line.Cells, int(float64(line.Now.Sub(line.From))/float64(x.length())+1)))
	return x
}

func (x *axis) length() time.Duration {
	return x.line.To.Sub(x.line.From) / time.Duration(x.line.Cells)
}

func (x *axis) begin(cell int) time.Time { return x.line.From.Add(time.Duration(cell) * x.length()) }

func (x *axis) print() {
	from, to := x.line.From.In(x.loc), x.line.To.In(x.loc)
	x.a.Printf("%s .. %s  1 cell = %s\n", from.Format("Mon 15:04"), to.Format("Mon 15:04 MST"), display.RoundLength(x.length()))
	x.row("", x.hours(), "NEXT", cli.Faint)
	x.row("starts", x.load(), fmt.Sprintf("peak %d", x.line.Peak), cli.Normal)
	for i := range x.line.Jobs {
		j := &x.line.Jobs[i]
		x.row(string(j.Job), x.cells(j), x.next(j), cli.Normal)
	}
	if x.line.Peak > 0 {
		x.a.Printf("busiest minute %s with %s   quietest near by %s\n", x.line.PeakAt.In(x.loc).Format("Mon 15:04"),
			display.Count(x.line.Peak, "start"), x.line.Quiet.In(x.loc).Format("15:04"))
	}
	x.legend()
}

// row writes a name, cells with now in between, and what comes after them.
func (x *axis) row(name string, cells []cli.Cell, after string, t cli.Tone) {
	name = display.Cut(display.Text(name), timelineName)
	x.a.Printf("%s%s ", x.a.Paint(t, name), strings.Repeat(" ", timelineName-display.Width(name)))
	for i := 0; i <= len(cells); i++ {
		if i == x.now {
			x.a.Printf("%s", x.a.Paint(cli.Faint, x.bar))
		}
		if i < len(cells) {
			x.a.Printf("%s", x.a.Paint(cells[i].Tone, cells[i].Text))
		}
	}
	x.a.Printf(" %s\n", x.a.Paint(t, after))
}

// blank returns the cells of an empty axis.
func (x *axis) blank() []cli.Cell {
	cells := make([]cli.Cell, x.line.Cells)
	for i := range cells {
		cells[i].Text = " "
	}
	return cells
}

// hours returns the labels of the axis: times, or dates if the labels are at least a day apart.
func (x *axis) hours() []cli.Cell {
	const spacing = 6 // least number of cells from label to label
	cells := x.blank()
	form, step := "15:04", time.Minute
	for _, step = range []time.Duration{10 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
		if step >= spacing*x.length() {
			break
		}
	}
	if step >= 24*time.Hour {
		form = "01-02"
	}
	free := 0
	for i := range cells {
		begin := x.begin(i).In(x.loc)
		sinceMidnight := time.Duration(begin.Hour()*60+begin.Minute()) * time.Minute
		label := begin.Format(form)
		fits := i+len(label) <= x.now || i >= x.now && i+len(label) <= len(cells)
		if sinceMidnight%step < x.length() && i >= free && fits {
			for k := range len(label) {
				cells[i+k] = cli.Cell{Text: label[k : k+1], Tone: cli.Faint}
			}
			free = i + len(label) + 1
		}
	}
	return cells
}

// load draws how many jobs start in each cell, by height.
func (x *axis) load() []cli.Cell {
	heights := []rune(cli.Sign("▁▂▃▄▅▆▇█", ".:-=+*#@"))
	cells := x.blank()
	most := 0
	for _, n := range x.line.Load {
		most = max(most, n)
	}
	for i, n := range x.line.Load {
		if n > 0 {
			cells[i].Text = string(heights[(n*len(heights)-1)/most])
		}
	}
	return cells
}

// timelineSigns draw what a cell shows, with signs and with letters of ASCII.
var timelineSigns = []struct {
	kind        api.CellKind
	sign, ascii string
	tone        cli.Tone
	word        string
}{
	{api.CellOK, "■", "o", cli.Good, "ran"},
	{api.CellSpan, "━", "-", cli.Good, "continued"},
	{api.CellRunning, "►", ">", cli.Active, "runs"},
	{api.CellFailed, "✗", "X", cli.Bad, "failed"},
	{api.CellLate, "!", "!", cli.Warn, "late"},
	{api.CellStarted, "○", "?", cli.Normal, "started"},
	{api.CellSkipped, "·", "s", cli.Faint, "skipped"},
	{api.CellPlanned, "∙", ".", cli.Normal, "planned"},
	{api.CellExpected, "┄", "~", cli.Faint, "expected"},
	{api.CellPaused, "‖", "=", cli.Faint, "paused"},
}

func (x *axis) cells(j *api.TimelineJob) []cli.Cell {
	cells := x.blank()
	for _, c := range j.Cells {
		for _, s := range timelineSigns {
			if s.kind == c.Kind {
				cells[c.Cell] = cli.Cell{Text: cli.Sign(s.sign, s.ascii), Tone: s.tone}
			}
		}
	}
	return cells
}

func (x *axis) next(j *api.TimelineJob) string {
	if j.Next.IsZero() && (j.State == job.StatePaused || j.State == job.StateHeld || j.State == job.StateDisabled) {
		return cli.Sign("‖", "=") + " " + string(j.State)
	}
	return display.Away(j.Next, x.line.Now)
}

func (x *axis) legend() {
	var all []string
	for _, s := range timelineSigns {
		all = append(all, x.a.Paint(s.tone, cli.Sign(s.sign, s.ascii))+" "+s.word)
	}
	x.a.Printf("%s\n", strings.Join(all, "  "))
}
