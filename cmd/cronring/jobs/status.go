package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// statusFlags are the flags of status.
type statusFlags struct {
	check bool
	ping  bool
	watch bool
	out   *cli.Output
}

// NewStatus returns the command status.
func NewStatus(a *cli.App) *cobra.Command {
	f := &statusFlags{}
	cmd := &cobra.Command{
		Use:   "status [--check|--ping|--watch]",
		Short: "Show a summary of the daemon and its jobs",
		Long: `Show a summary of the daemon and its jobs.

With --check the exit code is 8 if a job fails, is late, or is held because of an
invalid option, if a line of a crontab is invalid, or if the daemon reports a
problem; else 0.

--ping only reports whether the daemon answers, and how fast. It requests nothing
about jobs, so every user may do it. The exit code is 5 if there is no answer.

--watch keeps running: on a terminal it redraws the page, otherwise it prints the
lines that change.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.ping {
				return ping(cmd.Context(), a)
			}
			return showStatus(a, cmd, f)
		},
	}
	cmd.Flags().BoolVar(&f.check, "check", false, "exit 8 if there are problems")
	cli.AddWatch(cmd, &f.watch, "the page")
	cmd.Flags().BoolVar(&f.ping, "ping", false, "only report whether the daemon answers, and how fast")
	cmd.MarkFlagsMutuallyExclusive("check", "ping", "watch")
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddSelection(cmd, f.out, api.Status{})
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

// PrintStatusPage prints the status as text, for cronring without a command.
func PrintStatusPage(a *cli.App, cmd *cobra.Command) error {
	return showStatus(a, cmd, &statusFlags{out: &cli.Output{}})
}

func showStatus(a *cli.App, cmd *cobra.Command, f *statusFlags) error {
	loc := a.Location()
	if f.watch && f.out.Value == cli.FormJSON {
		return cli.UsageError("watch with -o json", "a document would never end", "cronring report events -o jsonl")
	}
	client := a.Daemon()
	r := &statusView{app: a, loc: loc, client: client}
	if f.watch {
		return r.watch(cmd.Context())
	}
	if err := r.ask(cmd.Context()); err != nil {
		return err
	}
	if err := a.PrintAnswer(f.out, r.status, func() { printStatus(a, r.status, r.jobs, loc) }); err != nil {
		return err
	}
	if f.check && hasProblems(r.status, r.jobs) {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

func ping(ctx context.Context, a *cli.App) error {
	began := time.Now()
	h, err := a.Daemon().Health(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began).Round(10 * time.Microsecond)
	a.Printf("cronringd %s on %s answered in %s, up %s\n", display.Text(h.Version), display.Text(h.Host), took,
		display.Brief(a.Now().Sub(h.Started).Truncate(time.Second)))
	return nil
}

// statusView is the daemon's answer about its status.
type statusView struct {
	app    *cli.App
	loc    *time.Location
	client *api.Client
	status api.Status
	jobs   []job.Status // that are not simply well
}

func (r *statusView) ask(ctx context.Context) (err error) {
	if r.status, err = r.client.Status(ctx); err != nil {
		return err
	}
	r.jobs, err = r.client.List(ctx, api.Query{
		States: []job.State{job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StatePaused}})
	return err
}

func (r *statusView) text() []byte {
	return r.app.Capture(func() { printStatus(r.app, r.status, r.jobs, r.loc) })
}

// watch shows the page again and again, or where it cannot be drawn over itself
// those lines of it that are new.
func (r *statusView) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &cli.Watch{Changes: cli.FollowBoard(ctx, r.client, func(*api.BoardUpdate) bool { return true }), Ask: r.ask}
	if r.app.CanRedraw() {
		s := &cli.Redraw{Printer: &r.app.Printer}
		w.Ticks = true
		w.Draw = func() error { return s.Put(r.text()) }
		return w.Run(ctx)
	}
	printed := map[string]bool{}
	w.Draw = func() error {
		now := map[string]bool{}
		for line := range strings.Lines(string(r.text())) {
			now[line] = true
			if !printed[line] {
				r.app.Out.WriteString(line)
			}
		}
		printed = now
		return r.app.Out.Flush()
	}
	return w.Run(ctx)
}

func hasProblems(s api.Status, jobs []job.Status) bool {
	return len(s.Problems) > 0 || s.Errors > 0 || slices.ContainsFunc(jobs, func(j job.Status) bool {
		return j.State == job.StateFailing || j.State == job.StateLate || j.Job.Held != ""
	})
}

func printStatus(a *cli.App, s api.Status, jobs []job.Status, loc *time.Location) {
	if s.NoDaemon != "" {
		a.Printf("%s", display.Text(s.NoDaemon))
	} else {
		a.Printf("cronringd %s on %s, up %s", display.Text(s.Version), display.Text(s.Host), display.Brief(s.Now.Sub(s.Started).Round(time.Second)))
	}
	if s.Next != nil {
		a.Printf("    next: %s %s %s", display.Text(string(s.Next.Job)), s.Next.At.In(loc).Format("15:04:05 MST"), a.FromNow(s.Next.At))
		if s.Next.Node != "" {
			a.Printf(" on %s", display.Text(s.Next.Node))
		}
	}
	a.Printf("\n%s%s", display.Count(s.Jobs, "job"), StateCounts(s.States))
	if s.Day != nil && s.Day.Runs > 0 {
		a.Printf("    24 h: %s, %.1f %% ok, lag p99 %s", display.Count(s.Day.Runs, "run"),
			100*float64(s.Day.OK)/float64(s.Day.Runs), s.Day.LagP99.Round(time.Millisecond))
	}
	a.Printf("\n")
	if s.Draining {
		a.Printf("%s the daemon is stopping: it starts nothing more\n", a.Paint(cli.Warn, "!"))
	}
	for _, p := range s.Problems {
		printProblem(a, a.Paint(cli.Bad, cli.Sign("✗", "x")), p)
	}
	for _, p := range s.Notices {
		printProblem(a, a.Paint(cli.Normal, cli.Sign("·", ".")), p)
	}
	if s.Errors+s.Warnings > 0 {
		what, list := "crontab files", "cronring reload"
		if s.Denied.Reload != "" {
			what, list = "your crontab", "crontab -l | cronring lint -"
		}
		a.Printf("%s %s: %s, %s    %s\n", a.Paint(cli.Warn, "!"), what, display.Count(s.Errors, "error"), display.Count(s.Warnings, "warning"), list)
	}
	printProblems(a, jobs, loc)
}

func printProblem(a *cli.App, sign string, p api.Problem) {
	a.Printf("%s %s\n", sign, display.Text(p.What))
	cli.PrintPart(a, "why", p.Why)
	cli.PrintPart(a, "fix", p.Fix)
}

// StateCounts lists the states worth a word, worst first.
func StateCounts(n map[job.State]int) string {
	var parts []string
	for _, state := range []job.State{job.StateFailing, job.StateLate, job.StateRunning, job.StateHeld, job.StatePaused, job.StateDisabled} {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[state], state))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// printProblems prints a line for each job that is not simply well.
func printProblems(a *cli.App, jobs []job.Status, loc *time.Location) {
	width := 0
	for _, j := range jobs {
		width = max(width, display.Width(display.Text(string(j.Job.ID))))
	}
	for _, j := range jobs {
		a.Printf("%s %s  %s\n", a.Paint(cli.StateLook[j.State].Tone, cli.StateSign(j.State)),
			display.Pad(display.Text(string(j.Job.ID)), width), display.Text(problemOf(a, j, loc)))
	}
}

// problemOf returns one line about the problem of a job.
func problemOf(a *cli.App, j job.Status, loc *time.Location) string {
	why := "    cronring why " + string(j.Job.ID)
	reason := cmp.Or(j.Why, j.Problem) // a daemon of an older version sends only the problem
	switch {
	case j.State == job.StateFailing && j.Last != nil:
		return j.Last.Ending() + ", " + a.FromNow(j.Last.Ended) + "    cronring logs " + string(j.Job.ID)
	case j.State == job.StateLate && reason != "":
		return reason + why
	case j.State == job.StateRunning && len(j.Running) > 0:
		r := &j.Running[0]
		return fmt.Sprintf("run %d, %s for %s", r.ID, r.State, a.Took(r))
	case j.Job.Held != "":
		return "held: " + j.Job.Held
	case j.Hold != nil:
		return "paused by " + j.Hold.By + cli.PauseEnd(j.Hold, loc) + cli.ReasonSuffix(j.Hold.Reason.Words())
	}
	return string(j.State) + why
}
