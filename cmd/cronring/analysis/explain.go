package analysis

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/timeinput"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	cli.FormatFlags
	from time.Time
	out  *cli.Output
}

// NewExplain returns the command explain.
func NewExplain(a *cli.App) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain 'EXPR'|'LINE'|JOB",
		Short: "Say in plain words what a schedule, a whole line or a job means",
		Long: `Say in plain words what a schedule, a whole line or a job means: when it runs, how
often a year, what the next two changes of the zone do to it, what the command
gets on its standard input (the text after %), and what lint has to say. Options
may be given above the line.

EXPR and LINE contain blanks, or begin with @, and need no daemon. Any other word
is a JOB of the daemon: the output then includes its options, with the place where
each was set, and the jobs that start in the same minutes in the next seven days.`,
		Example: "  cronring explain '30 2 * * *' --tz America/New_York\n  cronring explain '0 9 * * mon mail -s report ann%Hello'\n  cronring explain backup",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return explain(cmd.Context(), a, args[0], f) },
	}
	a.AddFuture(cmd, &f.from, "from", "as seen at `T` instead of now: "+timeinput.Help)
	f.Add(cmd)
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddSelection(cmd, f.out, api.Explanation{})
	a.AddZone(cmd, "of the schedule; of a job, only of the times")
	a.AddColor(cmd)
	return cmd
}

func explain(ctx context.Context, a *cli.App, text string, f *explainFlags) error {
	loc := a.Location()
	from := cmp.Or(f.from, a.Now())
	var x api.Explanation
	var err error
	if isLine(text) {
		x, err = explainText(text, f, loc, from.In(loc))
	} else {
		x, err = a.Daemon().Explain(ctx, text, f.from)
	}
	if err != nil {
		return err
	}
	return a.PrintAnswer(f.out, x, func() { printExplanation(a, x, from, loc) })
}

// isLine reports whether a text is meant as a schedule or as a line of a crontab,
// perhaps with lines of options above it.
func isLine(text string) bool { return isSchedule(text) || strings.Contains(text, "\n") }

// explainText takes text for a schedule, and if more follows the time, for a
// whole line.
func explainText(text string, f *explainFlags, loc *time.Location, from time.Time) (api.Explanation, error) {
	zone := timetable.NewZone(loc)
	s, diagnostics := timetable.ParseSchedule(text, zone, 0)
	if s != nil {
		return api.NewExplanation(text, s, zone, diagnostics, from), nil
	}
	if len(diagnostics) == 1 && diagnostics[0].Code == "B014" && len(strings.Fields(text)) == 1 { // @reboot alone
		file, _ := f.Parse(cli.Source{Name: "-", Text: text + " root true\n"}, loc)
		e := &file.Entries[0]
		return api.NewExplanation(e.Spec(), e.Schedule, e.Zone(), nil, from), nil
	}
	file, lineDiagnostics := f.Parse(cli.Source{Name: "-", Text: text + "\n"}, loc)
	if len(file.Entries) == 0 {
		if len(lineDiagnostics) > 0 {
			diagnostics = lineDiagnostics
		}
		return api.Explanation{}, BadSchedule(text, diagnostics)
	}
	e := &file.Entries[0]
	x := api.NewExplanation(e.Spec(), e.Schedule, e.Zone(), lineDiagnostics, from)
	x.AddEntry(e, e.Options().Items)
	if file.Format == crontab.System {
		x.User = e.User()
	}
	return x, nil
}

func printExplanation(a *cli.App, x api.Explanation, from time.Time, loc *time.Location) {
	a.PrintField("job", string(x.Job))
	if x.Line > 0 {
		a.PrintField("source", fmt.Sprintf("%s:%d", x.Crontab, x.Line))
	}
	a.PrintField("schedule", x.Schedule)
	a.PrintField("meaning", x.Meaning)
	a.PrintField("zone", x.Zone)
	a.PrintField("user", x.User)
	a.PrintField("command", x.Command)
	if x.Stdin != "" {
		a.PrintField("stdin", strconv.Quote(x.Stdin))
	}
	for i, o := range x.Options {
		a.PrintField(cli.FirstOnly(i, "options"), option.Written(o.Key, o.Value)+"  "+o.Meaning)
	}
	a.PrintField("held", x.Held)
	a.PrintField("degraded", x.Degraded)
	if h := x.Hold; h != nil {
		a.PrintField("paused", "by "+h.By+cli.PauseEnd(h, loc)+cli.ReasonSuffix(h.Reason.Words()))
	}
	a.PrintField("blackout", x.Blackout)
	if x.Year != 0 {
		a.PrintField("a year", display.Count(x.Runs, "run")+" in "+strconv.Itoa(x.Year))
	}
	for i, t := range x.Next {
		if x.Job != "" {
			t = t.In(loc)
		}
		a.PrintField(cli.FirstOnly(i, "next"), t.Format(cli.LongTime)+"  in "+display.Brief(t.Sub(from).Round(time.Second)))
	}
	for i, c := range x.Changes {
		a.PrintField(cli.FirstOnly(i, "clock"), changeTitle(c))
		a.PrintField("", "  "+c.Effect)
	}
	printShared(a, x, loc)
	printAdvice(a, x.Diagnostics)
}

// printShared prints which jobs start at the same time.
func printShared(a *cli.App, x api.Explanation, loc *time.Location) {
	if x.Job == "" {
		return
	}
	if x.Shared == 0 {
		a.PrintField("clashes", "none in 7 days")
		return
	}
	a.PrintField("clashes", "starts with others in "+display.Count(x.Shared, "minute")+" of 7 days, the fullest:")
	for _, c := range x.Clashes {
		others := c
		others.Starts--
		a.PrintField("", c.At.In(loc).Format("Mon 01-02 15:04")+"  with "+startNames(others)+"; quiet: "+c.Quiet.In(loc).Format("15:04"))
	}
}

func changeTitle(c api.ZoneChange) string {
	verb := "goes back"
	if c.After > c.Before {
		verb = "jumps"
	}
	return fmt.Sprintf("%s %s %s -> %s", c.At.Format("Mon 2006-01-02"), verb, c.Before, c.After)
}
