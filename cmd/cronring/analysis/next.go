package analysis

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// nextFlags are the flags of next.
type nextFlags struct {
	cli.FormatFlags
	number      int
	from, until time.Time
	out         *cli.Output
}

// coming is the result of next.
type coming struct {
	V           int              `json:"v"`
	Schedule    string           `json:"schedule,omitempty"` // these three are of one schedule or job
	Zone        string           `json:"zone,omitempty"`
	Meaning     string           `json:"meaning,omitempty"`
	PerYear     int              `json:"runs_a_year,omitempty"` // in the year of the start; 0 when not known
	Next        []time.Time      `json:"next"`
	Jobs        []job.ID         `json:"jobs,omitempty"`  // of the runs, where jobs were named
	Nodes       []string         `json:"nodes,omitempty"` // of the runs, in a ring: their owners; "": only this host, or no owner
	Diagnostics []api.Diagnostic `json:"diagnostics"`

	follows bool // the next run is due after the end of an active one, by delay=
	assumed bool // the first check finds the entry due: its last run is not known
}

// node returns the owner of a run in a ring.
func (c *coming) node(i int) string {
	if c.Nodes == nil {
		return ""
	}
	return c.Nodes[i]
}

// NewNext returns the command next.
func NewNext(a *cli.App) *cobra.Command {
	f := &nextFlags{}
	cmd := &cobra.Command{
		Use:   "next ['EXPR'|FILE:LINE|JOB...]",
		Short: "Show when a schedule, an entry or jobs run next",
		Long: `Show when a schedule, an entry or jobs run next.

EXPR is five fields or a nickname like @daily; FILE:LINE is an entry of a crontab
file. Neither needs a daemon. Any other word selects jobs of the daemon; without
arguments, all jobs. Their runs are listed in time order. Jobs that are held,
disabled, or paused without an end have none.`,
		Example: "  cronring next '0 0 13 * 5' -n 4 --tz Europe/Berlin\n  cronring next /etc/crontab:17\n  cronring next 'etl-*' --until tomorrow",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return next(a, cmd, args, f) },
	}
	cmd.Flags().IntVarP(&f.number, "number", "n", 10, "at most `N` runs")
	a.AddFuture(cmd, &f.from, "from", "begin at `T` instead of now: "+timeinput.Help)
	a.AddFuture(cmd, &f.until, "until", "end before `T`")
	f.Add(cmd)
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	a.AddSelection(cmd, f.out, coming{})
	a.AddZone(cmd, "of the schedule, where it names none, and of the times")
	a.AddColor(cmd)
	return cmd
}

func next(a *cli.App, cmd *cobra.Command, args []string, f *nextFlags) error {
	if f.number < 1 || f.number > api.MaxComing {
		return cli.Invalid(fmt.Sprintf("-n %d", f.number), fmt.Sprintf("expected 1 to %d", api.MaxComing), "")
	}
	loc := a.Location()
	now := cmp.Or(f.from, a.Now())
	if !f.until.IsZero() && !now.Before(f.until) {
		return cli.UsageError("list coming runs", "--until is not after --from, which is now by default", "")
	}
	what, single := cli.Single(args)
	var c coming
	var err error
	switch {
	case single && isSchedule(what):
		c, err = scheduleNext(what, loc, f.window(now))
	case single && isEntry(what):
		c, err = entryNext(a, what, loc, f, f.window(now))
	default:
		c, err = jobsNext(cmd.Context(), a, api.ComingQuery{Refs: args, From: f.from, Until: f.until, Limit: f.number}, loc)
	}
	if err != nil {
		return err
	}
	return printComing(a, c, now, loc, f.out)
}

// isSchedule reports whether a word is a schedule: it contains blanks, or begins with @
// and is not a group of jobs.
func isSchedule(what string) bool {
	switch what {
	case "@failed", "@running", "@late", "@paused":
		return false
	}
	return strings.ContainsAny(what, " \t") || strings.HasPrefix(what, "@")
}

// isEntry reports whether a word is FILE:LINE of an existing file.
func isEntry(what string) bool {
	name, line, ok := cutLast(what, ":")
	if !ok || line == "" || strings.Trim(line, "0123456789") != "" {
		return false
	}
	_, err := os.Stat(name)
	return err == nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Window limits a list of coming runs.
type Window struct {
	From, Until time.Time // until zero: no end
	Number      int
}

func (f *nextFlags) window(from time.Time) Window { return Window{from, f.until, f.number} }

// Runs lists the runs of a schedule in w. The first may be at w.From itself. An entry of anacrontab is checked
// each midnight. Its last run is not known here, so the first check finds it due.
func (w Window) Runs(s cron.Schedule, zone *time.Location) []time.Time {
	list := []time.Time{}
	p := timetable.PeriodOf(s)
	var ran timetable.Day
	for at := s.Next(w.From.Add(-1)); len(list) < w.Number && w.includes(at); at = s.Next(at) {
		run := at
		if p != nil {
			today := timetable.DayOf(at, zone)
			if len(list) > 0 && !p.Due(ran, today) {
				continue
			}
			run, ran = p.Start(at, zone), today
		}
		list = append(list, run)
	}
	return list
}

func (w Window) includes(t time.Time) bool {
	return !t.IsZero() && (w.Until.IsZero() || t.Before(w.Until))
}

func scheduleNext(spec string, loc *time.Location, w Window) (coming, error) {
	s, diagnostics := timetable.ParseSchedule(spec, timetable.NewZone(loc), 0)
	if s == nil {
		return coming{}, BadSchedule(spec, diagnostics)
	}
	return newComing(spec, s, loc, w, diagnostics), nil
}

// BadSchedule makes the first error in a schedule that of the command.
func BadSchedule(spec string, diagnostics []crontab.Diagnostic) error {
	for _, d := range diagnostics {
		if d.Severity == crontab.Error {
			return cli.UsageError(fmt.Sprintf("read the schedule %q", spec), fmt.Sprintf("column %d: %s (%s)", d.Column, d.Message, d.Code), d.Fix)
		}
	}
	return cli.UsageError(fmt.Sprintf("read the schedule %q", spec), "it names no time", "")
}

func newComing(spec string, s cron.Schedule, loc *time.Location, w Window, diagnostics []crontab.Diagnostic) coming {
	c := coming{V: api.Version, Schedule: spec, Zone: loc.String(), Meaning: timetable.Describe(s), Diagnostics: api.NewDiagnostics(diagnostics)}
	c.PerYear = timetable.PerYear(s, w.From.In(loc).Year())
	for _, t := range w.Runs(s, loc) {
		c.Next = append(c.Next, t.In(loc))
	}
	return c
}

// entryNext returns the next runs of a line of a crontab file, in the zone of that file.
func entryNext(a *cli.App, what string, loc *time.Location, f *nextFlags, w Window) (coming, error) {
	name, number, _ := cutLast(what, ":")
	line, _ := strconv.Atoi(number)
	s, err := a.ReadSource(name)
	if err != nil {
		return coming{}, err
	}
	file, diagnostics := f.Parse(s, loc)
	var about []crontab.Diagnostic
	for _, d := range diagnostics {
		if d.Line == line {
			about = append(about, d)
		}
	}
	for i := range file.Entries {
		if e := &file.Entries[i]; e.Line() == line {
			c := newComing(e.Spec(), e.Schedule, e.Zone().Location(), w, about)
			c.Meaning, c.assumed = e.Meaning(), timetable.PeriodOf(e.Schedule) != nil
			return c, nil
		}
	}
	e := &api.Error{What: "cannot find the next runs of " + what, Why: "that line is not an entry", Fix: "cronring lint " + name, Kind: api.NotFound}
	for _, d := range about {
		if d.Severity == crontab.Error {
			e.Why = d.Message
		}
	}
	return coming{}, e
}

// jobsNext requests the next runs from the daemon. For a single job it adds its meaning.
func jobsNext(ctx context.Context, a *cli.App, q api.ComingQuery, loc *time.Location) (coming, error) {
	client := a.Daemon()
	found, err := client.Coming(ctx, q)
	if err != nil {
		return coming{}, err
	}
	c := coming{V: api.Version, Next: []time.Time{}, Jobs: []job.ID{}, Diagnostics: []api.Diagnostic{}}
	if ref, single := cli.Single(q.Refs); single && isName(ref) {
		j, err := client.Show(ctx, ref)
		if err != nil {
			return coming{}, err
		}
		c.Schedule, c.Zone, c.Meaning, c.Diagnostics = j.Job.StartsOn(), j.Job.Zone, j.Meaning, j.Diagnostics
		c.follows = j.Job.Options["delay"] != "" && len(j.Running) > 0
	}
	for i, r := range found.Runs {
		c.Next, c.Jobs = append(c.Next, r.At.In(loc)), append(c.Jobs, r.Job)
		if c.Nodes == nil && r.Node != "" {
			c.Nodes = make([]string, len(found.Runs))
		}
		if r.Node != "" {
			c.Nodes[i] = r.Node
		}
	}
	return c, nil
}

// isName reports whether a word names one job, and neither a set nor a glob.
func isName(ref string) bool { return !strings.HasPrefix(ref, "@") && !strings.ContainsAny(ref, "*?[") }

func printComing(a *cli.App, c coming, from time.Time, loc *time.Location, out *cli.Output) error {
	many := c.Schedule == "" // jobs: each line names its own
	switch out.Value {
	case cli.FormJSON:
		return a.PrintJSON(c)
	case cli.FormJSONL:
		if !many {
			return cli.PrintLines(a, c.Next)
		}
		for i, t := range c.Next {
			if err := a.PrintLine(api.ComingRun{At: t, Job: c.Jobs[i], Node: c.node(i)}); err != nil {
				return err
			}
		}
		return nil
	case cli.FormPlain:
		for i, t := range c.Next {
			a.Printf("%s", t.Format(cli.PlainTime))
			if many {
				a.Printf("\t%s", display.Text(string(c.Jobs[i])))
			}
			if c.Nodes != nil {
				a.Printf("\t%s", display.Text(c.node(i)))
			}
			a.Printf("\n")
		}
		return nil
	}
	if !many {
		printMeaning(a, c, loc)
	}
	width := len(strconv.Itoa(len(c.Next)))
	for i, t := range c.Next {
		a.Printf("%*d  %s  in %s", width, i+1, t.Format(cli.LongTime), display.Brief(t.Sub(from).Round(time.Second)))
		if many {
			a.Printf("  %s", display.Text(string(c.Jobs[i])))
		}
		if node := c.node(i); node != "" {
			a.Printf("  on %s", display.Text(node))
		}
		a.Printf("\n")
	}
	switch {
	case len(c.Next) > 0 && c.assumed:
		a.Printf("this assumes that the first check finds it due; the daemon knows its last run: cronring next JOB\n")
	case len(c.Next) > 0:
	case c.follows:
		a.Printf("no run is planned until the active one ends\n")
	default:
		a.Printf("no run\n")
	}
	printAdvice(a, c.Diagnostics)
	return nil
}

func printMeaning(a *cli.App, c coming, loc *time.Location) {
	a.Printf("%s", display.Text(c.Meaning))
	if c.PerYear > 0 {
		a.Printf(" (%s a year)", display.Count(c.PerYear, "run"))
	}
	a.Printf("\n")
	if c.Zone != loc.String() {
		a.Printf("in the zone %s\n", display.Text(c.Zone))
	}
}

// printAdvice writes diagnostics on something that has no place in a file.
func printAdvice(a *cli.App, diagnostics []api.Diagnostic) {
	for _, d := range diagnostics {
		a.Printf("%s %s %s", a.Paint(cli.SeverityTone[d.Severity], display.Text(d.Severity)), display.Text(string(d.Code)), display.Text(d.Message))
		if d.Fix != "" {
			a.Printf("; fix: %s", display.Text(d.Fix))
		}
		a.Printf("\n")
	}
}
