package main

import (
	"bufio"
	"context"
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
	wait               bool
	number             int
	stream             *choice
	out                *output
}

func newLogs(a *app) *cobra.Command {
	f := &logFlags{stream: oneOf("all", string(job.Stdout), string(job.Stderr), string(job.System))}
	cmd := &cobra.Command{
		Use:   "logs JOB|RUN [-f]",
		Short: "Print what a run wrote; of a job, its newest run",
		Long: `Print what a run wrote; of a job, its newest run.

The output of jobs is not trusted: control characters and escape sequences are
left out (colours stay where colour is used), and lines are cut at 8192 bytes.
--raw prints every byte as it was written.`,
		Example: "  cronring logs -f backup\n  cronring logs backup@failed --stream err",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.logs(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the run has ended")
	flags.BoolVar(&f.wait, "wait", false, "as --follow; the exit code is then that of the run")
	flags.IntVarP(&f.number, "number", "n", 0, "only the last `N` lines of what it wrote until now")
	flags.Lookup("number").DefValue = ""
	flags.BoolVar(&f.raw, "raw", false, "print all bytes as they are")
	flags.BoolVarP(&f.times, "timestamps", "t", false, "begin lines with time and stream")
	flags.Var(f.stream, "stream", "which output: all, out, err, sys")
	cmd.MarkFlagsMutuallyExclusive("raw", "timestamps")
	cmd.MarkFlagsMutuallyExclusive("raw", "number")
	cmd.MarkFlagsMutuallyExclusive("follow", "number")
	cmd.MarkFlagsMutuallyExclusive("wait", "number")
	f.out = a.textOutput(cmd, formText, formJSONL)
	a.addPager(cmd)
	a.addZone(cmd, "of --timestamps")
	a.addColor(cmd)
	a.addQuiet(cmd)
	a.addSocket(cmd)
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
	f.follow = f.follow || f.wait
	client := a.dial()
	defer client.Close()
	last, err := a.printOutput(cmd.Context(), client, runRef(ref), f, loc)
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

// printOutput prints what a run wrote, and gives the run as it ended, if that
// was waited for.
func (a *app) printOutput(ctx context.Context, client *api.Client, ref string, f *logFlags, loc *time.Location) (last *job.Run, err error) {
	if !f.follow && !f.raw {
		end := a.page()
		defer end()
	}
	if f.number > 0 {
		tail := &tailWriter{lines: f.number}
		result := a.out
		a.out = bufio.NewWriter(tail)
		defer func() {
			_ = a.out.Flush() // tail takes all
			a.out = result
			tail.writeTo(result)
		}()
	}
	p := &outputPrinter{app: a, flags: f, loc: loc, cleaners: map[job.Stream]*safe.Lines{}}
	for e, err := range client.Output(ctx, ref, f.follow) {
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
	return last, p.close()
}

// outputPrinter prints the chunks of one run. Each stream has its own cleaner,
// so that lines of the two are not mixed up.
type outputPrinter struct {
	*app
	flags    *logFlags
	loc      *time.Location
	at       time.Time // of the chunk being printed
	cleaners map[job.Stream]*safe.Lines
}

// event prints one item of the stream. The record that ends a followed one is
// not output.
func (p *outputPrinter) event(e api.Event) error {
	switch {
	case e.Gap != nil:
		p.say("%s left out: this reader was too slow", plural(e.Gap.Lost, "piece"))
	case e.Chunk != nil && (p.flags.stream.word == "all" || string(e.Chunk.Stream) == p.flags.stream.word):
		if err := p.print(*e.Chunk); err != nil {
			return err
		}
	}
	if p.flags.follow {
		return p.out.Flush()
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
		if p.flags.times {
			c.Prefix = func() string { return p.at.In(p.loc).Format("15:04:05.000 ") + string(s) + "  " }
		}
		p.cleaners[s] = c
	}
	return c
}

func (p *outputPrinter) close() error {
	for _, s := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if c := p.cleaners[s]; c != nil {
			if err := c.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}
