package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// statusFlags are the flags of status.
type statusFlags struct {
	check bool
	watch bool
	out   *output
}

func newStatus(a *app) *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [--check|--watch]",
		Short: "Tell on one screen how the daemon and its jobs are",
		Long: `Tell on one screen how the daemon and its jobs are.

With --check the exit code is 8 if a job fails, is late or is held because an
option that guards or limits it cannot be followed, if a line of a crontab
file does not count, or if the daemon has trouble of its own; else 0.

With --watch it goes on: on a terminal the page is drawn over itself, anywhere
else its lines that change are printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.status(cmd, f) },
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "exit 8 if there are problems")
	addWatch(cmd, &f.watch, "the page")
	cmd.MarkFlagsMutuallyExclusive("check", "watch")
	f.out = a.textOutput(cmd, formText, formJSON)
	a.addSelection(cmd, f.out, api.Status{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) status(cmd *cobra.Command, f *statusFlags) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	asJSON := f.out != nil && f.out.word == formJSON
	if f.watch && asJSON {
		return badUsage("watch with -o json", "a document would never end", "cronring events -o jsonl")
	}
	client := a.daemon()
	r := &standing{app: a, loc: loc, client: client}
	if f.watch {
		return r.watch(cmd.Context())
	}
	if err := r.ask(cmd.Context()); err != nil {
		return err
	}
	if asJSON {
		if err := a.printJSON(r.status); err != nil {
			return err
		}
	} else {
		a.printStatus(r.status, r.jobs, loc)
	}
	if f.check && hasProblems(r.status, r.jobs) {
		return exit(exitProblems)
	}
	return nil
}

// standing is how the daemon is, as it answered.
type standing struct {
	app    *app
	loc    *time.Location
	client *api.Client
	status api.Status
	jobs   []job.Status // that are not simply well
}

func (r *standing) ask(ctx context.Context) (err error) {
	if r.status, err = r.client.Status(ctx); err != nil {
		return err
	}
	r.jobs, err = r.client.List(ctx, api.Query{
		States: []job.State{job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld}})
	return err
}

func (r *standing) text() []byte {
	return r.app.rendered(func() { r.app.printStatus(r.status, r.jobs, r.loc) })
}

// watch shows the page again and again, or where it cannot be drawn over itself
// those lines of it that are new.
func (r *standing) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watch{changes: followBoard(ctx, r.client, func(*api.BoardUpdate) bool { return true }), ask: r.ask}
	if r.app.inPlace() {
		s := &redrawn{printer: &r.app.printer}
		w.ticks = true
		w.draw = func() error { return s.put(r.text()) }
		return w.run(ctx)
	}
	told := map[string]bool{}
	w.draw = func() error {
		now := map[string]bool{}
		for line := range strings.Lines(string(r.text())) {
			now[line] = true
			if !told[line] {
				r.app.out.WriteString(line)
			}
		}
		told = now
		return r.app.out.Flush()
	}
	return w.run(ctx)
}

func hasProblems(s api.Status, jobs []job.Status) bool {
	for _, j := range jobs {
		if j.State == job.StateFailing || j.State == job.StateLate || j.Job.Held != "" {
			return true
		}
	}
	return len(s.Problems) > 0 || s.Errors > 0
}

func (a *app) printStatus(s api.Status, jobs []job.Status, loc *time.Location) {
	a.printf("cronringd %s on %s, up %s", s.Version, safe.Text(s.Host), when.Brief(s.Now.Sub(s.Started).Round(time.Second)))
	if s.Next != nil {
		a.printf("    next: %s %s %s", safe.Text(string(s.Next.Job)), s.Next.At.In(loc).Format("15:04:05 MST"), a.until(s.Next.At))
		if s.Next.Node != "" {
			a.printf(" on %s", safe.Text(s.Next.Node))
		}
	}
	a.printf("\n%s%s", plural(s.Jobs, "job"), stateCounts(s.States))
	if s.Day != nil && s.Day.Runs > 0 {
		a.printf("    24 h: %s, %.1f %% ok, lag p99 %s", plural(s.Day.Runs, "run"),
			100*float64(s.Day.OK)/float64(s.Day.Runs), s.Day.LagP99.Round(time.Millisecond))
	}
	a.printf("\n")
	if s.Draining {
		a.printf("%s the daemon is stopping: it starts nothing more\n", a.paint(doubt, "!"))
	}
	for _, p := range s.Problems {
		a.printProblem(a.paint(bad, sign("✗", "x")), p)
	}
	for _, p := range s.Notices {
		a.printProblem(a.paint(calm, sign("·", ".")), p)
	}
	if s.Errors+s.Warnings > 0 {
		a.printf("%s crontab files: %s, %s    cronring reload\n", a.paint(doubt, "!"), plural(s.Errors, "error"), plural(s.Warnings, "warning"))
	}
	a.printTroubled(jobs, loc)
}

func (a *app) printProblem(sign string, p api.Problem) {
	a.printf("%s %s\n", sign, safe.Text(p.What))
	a.printPart("why", p.Why)
	a.printPart("fix", p.Fix)
}

func (a *app) printPart(name, text string) {
	if text != "" {
		a.printf("  %s   %s\n", name, safe.Text(text))
	}
}

// stateCounts lists the states worth a word, worst first.
func stateCounts(n map[job.State]int) string {
	var parts []string
	for _, state := range []job.State{job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StateDisabled} {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], state))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// printTroubled gives one line for each job that is not simply well.
func (a *app) printTroubled(jobs []job.Status, loc *time.Location) {
	width := 0
	for _, j := range jobs {
		width = max(width, safe.Width(safe.Text(string(j.Job.ID))))
	}
	for _, j := range jobs {
		a.printf("%s %s  %s\n", a.paint(stateLook[j.State].tone, stateSign(j.State)),
			safe.Pad(safe.Text(string(j.Job.ID)), width), safe.Text(a.trouble(j, loc)))
	}
}

// trouble says in one line what is the matter with a job.
func (a *app) trouble(j job.Status, loc *time.Location) string {
	why := "    cronring why " + string(j.Job.ID)
	switch {
	case j.State == job.StateFailing && j.Last != nil:
		return j.Last.Ending() + ", " + a.until(j.Last.Ended) + "    cronring logs " + string(j.Job.ID)
	case j.State == job.StateLate && j.Trouble != "":
		return j.Trouble + why
	case j.State == job.StateRunning && len(j.Running) > 0:
		r := &j.Running[0]
		return fmt.Sprintf("run %d, %s for %s", r.ID, r.State, a.took(r))
	case j.Hold != nil:
		return "paused by " + j.Hold.By + pauseEnd(j.Hold, loc) + because(j.Hold.Reason)
	case j.Job.Held != "":
		return "held: " + j.Job.Held
	case j.State == job.StateLate:
		return "due " + j.Next.In(loc).Format("15:04:05") + ", not started" + why
	}
	return string(j.State) + why
}

func pauseEnd(h *job.Hold, loc *time.Location) string {
	if h.Until.IsZero() {
		return " until resumed"
	}
	return " until " + h.Until.In(loc).Format(stampEyes)
}
