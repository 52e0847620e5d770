package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// logFlags are the flags of logs.
type logFlags struct {
	follow, raw, times bool
	wait, journal      bool
	number             int
	since              time.Time
	stream             *cli.Choice
	out                *cli.Output
}

// NewLogs returns the command logs.
func NewLogs(a *cli.App) *cobra.Command {
	f := &logFlags{stream: cli.OneOf("all", string(job.Stdout), string(job.Stderr), string(job.System))}
	cmd := &cobra.Command{
		Use:   "logs JOB|RUN [-f]",
		Short: "Print what a run wrote; of a job, its newest run",
		Long: `Print what a run wrote; of a job, its newest run, or with --since all that had not
ended by then, the oldest first.

The output of jobs is not trusted: control characters and escape sequences are
left out (colours stay where colour is used), and lines are cut at 8192 bytes.
--raw prints every byte as it was written.

--journal adds the lines of the journal that the daemon wrote about the run: what
it decided, when it started, how it ended. journalctl(1) reads them, so you see
only those of this host that you may read.`,
		Example: "  cronring logs -f backup\n  cronring logs backup@failed --stream err\n  cronring logs backup --since -2h --journal",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return logs(a, cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "continue until the run has ended")
	flags.BoolVar(&f.wait, "wait", false, "like --follow; the exit code is that of the run")
	flags.IntVarP(&f.number, "number", "n", 0, "only the last `N` lines of what each run wrote until now")
	a.AddPast(cmd, &f.since, "since", "", "only what was written from `T` on; of a job, by all its runs: "+timeinput.Help)
	flags.BoolVar(&f.raw, "raw", false, "print all bytes as they are")
	flags.BoolVarP(&f.times, "timestamps", "t", false, "begin lines with time and stream")
	flags.BoolVar(&f.journal, "journal", false, "add the daemon's own lines about the run")
	flags.Var(f.stream, "stream", "which output: all, out, err, sys")
	cmd.MarkFlagsMutuallyExclusive("raw", "timestamps")
	cmd.MarkFlagsMutuallyExclusive("raw", "journal")
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSONL)
	a.AddPager(cmd)
	a.AddZone(cmd, "of --timestamps and --since")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

// runRef returns a reference to a run. A reference to a job becomes one to the job's newest run.
func runRef(ref string) string {
	if strings.Contains(ref, "@") || strings.Trim(ref, "0123456789") == "" {
		return ref
	}
	return ref + "@last"
}

func logs(a *cli.App, cmd *cobra.Command, ref string, f *logFlags) error {
	loc := a.Location()
	if f.number < 0 {
		return cli.UsageError("print "+strconv.Itoa(f.number)+" lines", "it is a number of lines", "")
	}
	f.follow = f.follow || f.wait
	last, err := printLogs(cmd.Context(), a, a.Daemon(), ref, f, loc)
	switch {
	case !f.wait:
		return err
	case err != nil:
		a.Report(err)
		return cli.ExitCode(cli.ExitWaitFailed)
	}
	if last == nil {
		return cli.ExitCode(cli.ExitWaitFailed)
	}
	if code := exitOf(last); code != cli.ExitDone {
		return cli.ExitCode(code)
	}
	return nil
}

// printLogs prints the output of a run, or of several runs of a job. If it waited for the
// newest one, it returns that.
func printLogs(ctx context.Context, a *cli.App, client *api.Client, ref string, f *logFlags, loc *time.Location) (last *job.Run, err error) {
	if !f.follow && !f.raw {
		end := a.Page()
		defer end()
	}
	newest := runRef(ref)
	if f.since.IsZero() || newest == ref {
		return printOutput(ctx, a, client, newest, f, loc)
	}
	runs, err := runsSince(ctx, a, client, ref, f.since)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		a.Infof("no run of %s wrote anything since then", display.Text(ref))
	}
	for i := range runs {
		r, one := &runs[i], *f
		one.follow = f.follow && i == len(runs)-1
		if f.out.Value == cli.FormText && !f.raw && !a.Quiet {
			a.Printf("==> run %d of %s  %s  %s <==\n", r.ID, display.Text(string(r.Job)), r.Started.In(loc).Format(cli.LongTime), display.Text(r.ResultOrState()))
		}
		if last, err = printOutput(ctx, a, client, r.ID.String(), &one, loc); err != nil {
			return last, err
		}
	}
	return last, nil
}

// mostLogRuns bounds how many runs of a job are printed together.
const mostLogRuns = 1000

// runsSince returns the runs of a job that had not ended at an instant, the oldest first.
func runsSince(ctx context.Context, a *cli.App, client *api.Client, ref string, since time.Time) ([]job.Run, error) {
	found, err := client.History(ctx, api.Filter{Refs: []string{ref}, Limit: mostLogRuns})
	if err != nil {
		return nil, err
	}
	all := len(found.Runs)
	runs := slices.DeleteFunc(found.Runs, func(r job.Run) bool {
		return r.Started.IsZero() || !r.Ended.IsZero() && r.Ended.Before(since)
	})
	if all == mostLogRuns && len(runs) == all {
		a.Infof("only the newest %s are looked at", display.Count(all, "run"))
	}
	slices.Reverse(runs)
	return runs, nil
}

// printOutput prints the output of a run. If it waited for the end, it returns the run.
func printOutput(ctx context.Context, a *cli.App, client *api.Client, ref string, f *logFlags, loc *time.Location) (last *job.Run, err error) {
	p := &outputPrinter{App: a, flags: f, loc: loc, cleaners: map[job.Stream]*display.Lines{}}
	if f.journal {
		if p.pending, err = journalOf(ctx, a, client, ref, f.since); err != nil {
			return nil, err
		}
	}
	q := api.OutputQuery{Run: ref, Follow: f.follow, Since: f.since, Lines: f.number}
	if f.stream.Value != "all" {
		q.Stream = job.Stream(f.stream.Value)
	}
	if f.follow {
		a.OnInterrupt(func(context.Context) string {
			return "the run continues    follow it: cronring logs --follow " + display.Quote(ref)
		})
	}
	for e, err := range client.OutputOf(ctx, q) {
		if err == nil {
			if e.Record != nil {
				last = e.Record.Run
			}
			err = p.event(e)
		}
		if err != nil {
			p.close()
			return last, err
		}
	}
	if last != nil && f.journal { // the daemon logged more until the end of the run
		if p.pending, err = journalOf(ctx, a, client, last.ID.String(), cmp.Or(p.printedUntil, f.since)); err != nil {
			p.close()
			return last, err
		}
	}
	err = errors.Join(p.printUntil(time.Time{}), p.close())
	if err == nil && !f.follow && !f.raw && f.out.Value == cli.FormText && len(p.cleaners) == 0 {
		if strings.Trim(ref, "0123456789") == "" {
			ref = "run " + ref
		}
		p.Infof("%s has no output", display.Text(ref))
	}
	return last, err
}

// outputPrinter prints the chunks of one run. Each stream has its own cleaner,
// so that lines of the two are not mixed up.
type outputPrinter struct {
	*cli.App
	flags        *logFlags
	loc          *time.Location
	at           time.Time // of the chunk being printed
	cleaners     map[job.Stream]*display.Lines
	pending      []job.Chunk // of the journal, still to be printed
	printedUntil time.Time   // just after the newest line of it that was printed
}

// event prints one item of the stream. The record of the run's end, which follows the output, is not
// printed.
func (p *outputPrinter) event(e api.Event) error {
	switch {
	case e.Gap != nil:
		p.Infof("%s left out: this reader was too slow", display.Count(e.Gap.Lost, "piece"))
	case e.Chunk != nil:
		if err := errors.Join(p.printUntil(e.Chunk.At), p.print(*e.Chunk)); err != nil {
			return err
		}
	}
	if p.flags.follow {
		return p.Out.Flush()
	}
	return nil
}

// printUntil prints the lines of the journal from before an instant, the zero time
// for all.
func (p *outputPrinter) printUntil(at time.Time) error {
	for len(p.pending) > 0 && (at.IsZero() || p.pending[0].At.Before(at)) {
		c := p.pending[0]
		p.pending, p.printedUntil = p.pending[1:], c.At.Add(time.Microsecond)
		if err := p.print(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *outputPrinter) print(c job.Chunk) error {
	switch {
	case p.flags.out.Value == cli.FormJSONL:
		return p.PrintLine(c)
	case p.flags.raw:
		_, err := p.Out.Write(c.Data)
		return err
	}
	p.at = c.At
	w := p.cleaner(c.Stream)
	if c.Cut > 0 {
		if err := w.Close(); err != nil {
			return err
		}
		p.Printf("[%d bytes left out]\n", c.Cut)
	}
	_, err := w.Write(c.Data)
	return err
}

func (p *outputPrinter) cleaner(s job.Stream) *display.Lines {
	c := p.cleaners[s]
	if c == nil {
		c = &display.Lines{W: p.Out, Color: p.Colored()}
		switch {
		case s == journalStream && !p.flags.times:
			c.Prefix = func() string { return "[journal] " }
		case p.flags.times:
			c.Prefix = func() string { return p.at.In(p.loc).Format("15:04:05.000 ") + display.Text(string(s)) + "  " }
		}
		p.cleaners[s] = c
	}
	return c
}

func (p *outputPrinter) close() error {
	for _, s := range []job.Stream{job.Stdout, job.Stderr, job.System, journalStream} {
		if c := p.cleaners[s]; c != nil {
			if err := c.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}
