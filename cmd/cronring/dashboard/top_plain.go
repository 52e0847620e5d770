package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/jobs"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// plainTop is the dashboard for screen readers: it prints one line for each event, and runs the
// commands that the user types. It never moves the cursor or repaints.
type plainTop struct {
	commands
	follows string // which ends of runs are printed: all, failed or off
}

// lookOnly are the commands that change nothing.
var lookOnly = []string{
	"status", "list", "ls", "show", "history", "logs", "why", "dead list", "undo list", "undo show", "lint", "next", "explain", "diff", "simulate", "doctor",
	"report stats", "report timeline", "report clashes", "report graph", "report events", "report metrics", "config show", "config env", "config check",
	"config path", "calendar list", "calendar check", "calendar next", "state get", "state list", "ring status", "ring diff", "db size", "db check",
	"backfill list", "options", "help", "man",
}

// unending are the commands that only ctrl+c would end.
var unending = []string{"top", "tui", "report events"}

const plainHelp = `Type a command as after "cronring" in a shell: list, list failed, why etl-orders,
logs etl-orders, run etl-orders, history. Beside them:
  follow all      print one line for the end of every run (the default)
  follow failed   print only failed runs and what users do
  follow off      print nothing
  help            list all commands
  quit            leave`

// plain runs the dashboard for screen readers until the user quits.
func plain(a *cli.App, cmd *cobra.Command, readOnly string, root func(*cli.App) *cobra.Command) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	client := a.Daemon()
	s, err := client.Status(ctx)
	if api.KindOf(err) == api.Unreachable && a.Host != "" { // the next connection shows the crontabs of a host without a daemon
		s, err = client.Status(ctx)
	}
	if err != nil {
		return err
	}
	program := "cronringd"
	if s.NoDaemon != "" {
		a.Printf("%s\n", display.Text(s.NoDaemon))
		program = "cron"
	}
	p := &plainTop{commands{a, root, readOnly}, "all"}
	a.Printf("%s on %s: %s%s. Type help, or quit.\n", program, display.Text(s.Host), display.Count(s.Jobs, "job"), jobs.StateCounts(s.States))
	events, lines, next := make(chan received), make(chan string), make(chan struct{})
	go follow(ctx, client, events)
	go readLines(ctx, a.In, next, lines)
	return p.loop(events, lines, next)
}

// received is one event, or the end of the stream.
type received struct {
	event api.Event
	err   error
}

func follow(ctx context.Context, client *api.Client, to chan<- received) {
	for e, err := range client.Events(ctx) {
		select {
		case to <- received{e, err}:
		case <-ctx.Done():
			return
		}
	}
	select {
	case to <- received{err: errors.New("the daemon has ended the connection")}:
	case <-ctx.Done():
	}
}

// readLines reads one line each time that it receives from next, and not a byte more: a command may ask
// the user a question.
func readLines(ctx context.Context, in io.Reader, next <-chan struct{}, to chan<- string) {
	defer close(to)
	for {
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
		line, ok := cli.ReadAnswer(in)
		if !ok {
			return
		}
		select {
		case to <- line:
		case <-ctx.Done():
			return
		}
	}
}

func (p *plainTop) loop(events <-chan received, lines <-chan string, next chan<- struct{}) error {
	ask := next
	for {
		p.a.Out.Flush()
		select {
		case ask <- struct{}{}:
			ask = nil
		case e := <-events:
			if e.err != nil {
				return e.err
			}
			p.printEvent(e.event)
		case line, ok := <-lines:
			ask = next
			if !ok || p.answer(line) {
				return nil
			}
		}
	}
}

// answer executes a typed line. It reports whether the user wants to quit.
func (p *plainTop) answer(line string) bool {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
	case words[0] == "quit" || words[0] == "q" || words[0] == "exit":
		return true
	case words[0] == "help" && len(words) == 1:
		p.a.Printf("%s\n", plainHelp)
		p.command([]string{"help"})
	case words[0] == "follow" && len(words) == 2 && slices.Contains([]string{"all", "failed", "off"}, words[1]):
		p.follows = words[1]
		p.a.Printf("following: %s\n", words[1])
	case isOneOf(unending, words), p.have(words, "watch"):
		p.a.Printf("%s never ends: run it in another shell\n", display.Text(strings.Join(words, " ")))
	case p.readOnly != "" && p.Changes(words):
		p.a.Printf("%s: %s\n", display.Text(words[0]), p.readOnly)
	default:
		p.command(words)
	}
	return false
}

// isOneOf reports whether words are one of these commands, with or without arguments.
func isOneOf(commands, words []string) bool {
	return slices.ContainsFunc(commands, func(command string) bool {
		name := strings.Fields(command)
		return slices.Equal(name, words[:min(len(name), len(words))])
	})
}

// command carries out one command line of this program.
func (p *plainTop) command(words []string) {
	for i, word := range words {
		if slices.Contains([]string{"failed", "running", "late", "paused"}, word) && i > 0 {
			words[i] = "@" + word
		}
	}
	sub := *p.a
	sub.Color, sub.Zone, sub.Client = cli.OneOf("never"), nil, nil
	root := p.root(&sub)
	if c, _, err := root.Find(words); err == nil && c.Flags().Lookup("host") != nil {
		words = append(p.a.ConnectionFlags(), words...)
	}
	sub.Run(root, words)
}

// printEvent prints an event as one line, if it is worth one.
func (p *plainTop) printEvent(e api.Event) {
	switch {
	case p.follows == "off":
	case e.Gap != nil:
		p.a.Printf("%s left out: too much happened\n", display.Count(e.Gap.Lost, "event"))
	case e.Record != nil:
		if text := recordSentence(e.Record, p.follows == "failed"); text != "" {
			p.a.Printf("%s %s\n", e.Record.At.Local().Format("15:04:05"), display.Text(text))
		}
	}
}

// recordSentence formats a record as a sentence, or as "" if the record is unimportant.
func recordSentence(r *job.Record, onlyFailures bool) string {
	switch {
	case r.Kind == job.Ended && r.Run != nil:
		return endSentence(r.Run, onlyFailures)
	case r.Kind == job.Decided && r.Decision == job.DecideSkip && !onlyFailures:
		return fmt.Sprintf("%s was not run: %s", r.Job, r.Reason.Sentence())
	case r.Kind == job.Paused, r.Kind == job.Resumed:
		return fmt.Sprintf("%s was %s", r.Job, r.Kind)
	case r.Kind == job.Acked:
		return fmt.Sprintf("%s was acknowledged", r.Job)
	case r.Kind == job.Loaded:
		return "the crontab files were read: " + r.Detail.Words()
	case r.Kind == job.Stepped:
		return "the clock was set: " + r.Detail.Words()
	}
	return ""
}

func endSentence(r *job.Run, onlyFailures bool) string {
	took := ""
	if !r.Started.IsZero() {
		took = " after " + display.Brief(r.Length())
	}
	switch {
	case r.OnlyStarted() && onlyFailures:
		return ""
	case r.OnlyStarted():
		return fmt.Sprintf("cron started %s", r.Job)
	case r.Failed():
		return fmt.Sprintf("%s failed: %s%s, run %d", r.Job, r.Ending(), took, r.ID)
	case onlyFailures:
		return ""
	}
	return fmt.Sprintf("%s ended well%s, run %d", r.Job, took, r.ID)
}
