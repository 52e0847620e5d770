package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

// logFlags are the flags of logs.
type logFlags struct {
	follow, raw, times bool
	wait, journal      bool
	number             int
	sinceText          string
	since              time.Time
	stream             *choice
	out                *output
}

func newLogs(a *app) *cobra.Command {
	f := &logFlags{stream: oneOf("all", string(job.Stdout), string(job.Stderr), string(job.System))}
	cmd := &cobra.Command{
		Use:   "logs JOB|RUN [-f]",
		Short: "Print what a run wrote; of a job, its newest run",
		Long: `Print what a run wrote; of a job, its newest run, or with --since all that had not
ended by then, the oldest first.

The output of jobs is not trusted: control characters and escape sequences are
left out (colours stay where colour is used), and lines are cut at 8192 bytes.
--raw prints every byte as it was written.

--journal adds the lines of the journal that the daemon wrote about the run: what
it decided, when it started, how it ended. They are read by journalctl(1), of this
host and by whoever may read them.`,
		Example: "  cronring logs -f backup\n  cronring logs backup@failed --stream err\n  cronring logs backup --since -2h --journal",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.logs(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the run has ended")
	flags.BoolVar(&f.wait, "wait", false, "as --follow; the exit code is then that of the run")
	flags.IntVarP(&f.number, "number", "n", 0, "only the last `N` lines of what each run wrote until now")
	flags.Lookup("number").DefValue = ""
	flags.StringVar(&f.sinceText, "since", "", "only what was written from `T` on; of a job, by all its runs: "+whenHelp)
	flags.BoolVar(&f.raw, "raw", false, "print all bytes as they are")
	flags.BoolVarP(&f.times, "timestamps", "t", false, "begin lines with time and stream")
	flags.BoolVar(&f.journal, "journal", false, "add the daemon's own lines about the run")
	flags.Var(f.stream, "stream", "which output: all, out, err, sys")
	cmd.MarkFlagsMutuallyExclusive("raw", "timestamps")
	cmd.MarkFlagsMutuallyExclusive("raw", "journal")
	f.out = a.textOutput(cmd, formText, formJSONL)
	a.addPager(cmd)
	a.addZone(cmd, "of --timestamps and --since")
	a.addColor(cmd)
	a.addQuiet(cmd)
	return cmd
}

// runRef makes a reference to a run of one to a job: the job's newest.
func runRef(ref string) string {
	if strings.Contains(ref, "@") || strings.Trim(ref, "0123456789") == "" {
		return ref
	}
	return ref + "@last"
}

func (a *app) logs(cmd *cobra.Command, ref string, f *logFlags) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	if f.since, err = a.flagTime("since", f.sinceText, loc); err != nil {
		return err
	}
	if f.number < 0 {
		return badUsage("print "+strconv.Itoa(f.number)+" lines", "it is a number of lines", "")
	}
	f.follow = f.follow || f.wait
	last, err := a.printLogs(cmd.Context(), a.daemon(), ref, f, loc)
	switch {
	case !f.wait:
		return err
	case err != nil:
		a.report(err)
		return exit(exitWaitTrouble)
	}
	if last == nil {
		return exit(exitWaitTrouble)
	}
	if code := exitOf(last); code != exitDone {
		return exit(code)
	}
	return nil
}

// printLogs prints what one run wrote, or several of a job, and gives the newest
// as it ended, if that was waited for.
func (a *app) printLogs(ctx context.Context, client *api.Client, ref string, f *logFlags, loc *time.Location) (last *job.Run, err error) {
	if !f.follow && !f.raw {
		end := a.page()
		defer end()
	}
	newest := runRef(ref)
	if f.since.IsZero() || newest == ref {
		return a.printOutput(ctx, client, newest, f, loc)
	}
	runs, err := a.runsSince(ctx, client, ref, f.since)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		a.say("no run of %s wrote anything since then", safe.Text(ref))
	}
	for i := range runs {
		r, one := &runs[i], *f
		one.follow = f.follow && i == len(runs)-1
		if f.out.word == formText && !f.raw && !a.quiet {
			a.printf("==> run %d of %s  %s  %s <==\n", r.ID, safe.Text(string(r.Job)), r.Started.In(loc).Format(stampEyes), safe.Text(r.Standing()))
		}
		if last, err = a.printOutput(ctx, client, r.ID.String(), &one, loc); err != nil {
			return last, err
		}
	}
	return last, nil
}

// mostLogRuns bounds how many runs of a job are printed together.
const mostLogRuns = 1000

// runsSince gives the runs of a job that had not ended at an instant, the oldest
// first.
func (a *app) runsSince(ctx context.Context, client *api.Client, ref string, since time.Time) ([]job.Run, error) {
	found, err := client.History(ctx, api.Filter{Refs: []string{ref}, Limit: mostLogRuns})
	if err != nil {
		return nil, err
	}
	all := len(found.Runs)
	runs := slices.DeleteFunc(found.Runs, func(r job.Run) bool {
		return r.Started.IsZero() || !r.Ended.IsZero() && r.Ended.Before(since)
	})
	if all == mostLogRuns && len(runs) == all {
		a.say("only the newest %s are looked at", plural(all, "run"))
	}
	slices.Reverse(runs)
	return runs, nil
}

// printOutput prints what a run wrote, and gives the run as it ended, if that
// was waited for.
func (a *app) printOutput(ctx context.Context, client *api.Client, ref string, f *logFlags, loc *time.Location) (last *job.Run, err error) {
	p := &outputPrinter{app: a, flags: f, loc: loc, cleaners: map[job.Stream]*safe.Lines{}}
	if f.journal {
		if p.said, err = a.journalOf(ctx, client, ref, f.since); err != nil {
			return nil, err
		}
	}
	q := api.OutputQuery{Run: ref, Follow: f.follow, Since: f.since, Lines: f.number}
	if f.stream.word != "all" {
		q.Stream = job.Stream(f.stream.word)
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
	if last != nil && f.journal { // more was said until its end
		if p.said, err = a.journalOf(ctx, client, last.ID.String(), cmp.Or(p.heard, f.since)); err != nil {
			p.close()
			return last, err
		}
	}
	return last, errors.Join(p.sayUntil(time.Time{}), p.close())
}

// outputPrinter prints the chunks of one run. Each stream has its own cleaner,
// so that lines of the two are not mixed up.
type outputPrinter struct {
	*app
	flags    *logFlags
	loc      *time.Location
	at       time.Time // of the chunk being printed
	cleaners map[job.Stream]*safe.Lines
	said     []job.Chunk // of the journal, still to be printed
	heard    time.Time   // just after the newest line of it that was printed
}

// event prints one item of the stream. The record that ends a followed one is
// not output.
func (p *outputPrinter) event(e api.Event) error {
	switch {
	case e.Gap != nil:
		p.say("%s left out: this reader was too slow", plural(e.Gap.Lost, "piece"))
	case e.Chunk != nil:
		if err := errors.Join(p.sayUntil(e.Chunk.At), p.print(*e.Chunk)); err != nil {
			return err
		}
	}
	if p.flags.follow {
		return p.out.Flush()
	}
	return nil
}

// sayUntil prints the lines of the journal from before an instant, the zero time
// for all.
func (p *outputPrinter) sayUntil(at time.Time) error {
	for len(p.said) > 0 && (at.IsZero() || p.said[0].At.Before(at)) {
		c := p.said[0]
		p.said, p.heard = p.said[1:], c.At.Add(time.Microsecond)
		if err := p.print(c); err != nil {
			return err
		}
	}
	return nil
}

func (p *outputPrinter) print(c job.Chunk) error {
	switch {
	case p.flags.out.word == formJSONL:
		return p.printLine(c)
	case p.flags.raw:
		_, err := p.out.Write(c.Data)
		return err
	}
	p.at = c.At
	w := p.cleaner(c.Stream)
	if c.Cut > 0 {
		if err := w.Close(); err != nil {
			return err
		}
		p.printf("[%d bytes left out]\n", c.Cut)
	}
	_, err := w.Write(c.Data)
	return err
}

func (p *outputPrinter) cleaner(s job.Stream) *safe.Lines {
	c := p.cleaners[s]
	if c == nil {
		c = &safe.Lines{W: p.out, Color: p.colored()}
		switch {
		case s == journalStream && !p.flags.times:
			c.Prefix = func() string { return "[journal] " }
		case p.flags.times:
			c.Prefix = func() string { return p.at.In(p.loc).Format("15:04:05.000 ") + string(s) + "  " }
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
