// Package change owns the changes that users make in the dashboard, each with its question, its
// request to the daemon, the shell command that does the same, and its undo.
//
// Nothing is changed here: each function returns a screen.Do, which the shell confirms
// and performs.
package change

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// Guard makes an action on several jobs, or on a protected one, harder to begin.
func Guard(w *screen.World, about screen.Subject, d screen.Do) screen.Do {
	if len(about.Jobs) > 1 {
		d.Detail = append(d.Detail, screen.Names(about.Jobs))
		if d.Class != screen.Undoable {
			d.Class, d.Count = screen.Removes, len(about.Jobs)
		}
	}
	for _, r := range w.Rows(about) {
		if r.Protected {
			d.Class, d.Name = screen.Protected, string(r.Job)
			d.Detail = append(d.Detail, string(r.Job)+" is protected by protect=yes")
			break
		}
	}
	return d
}

// Command returns the equivalent shell command for the jobs of a subject.
func Command(verb string, about screen.Subject, flags ...string) []string {
	return append(append([]string{"cronring", verb}, screen.Refs(about)...), flags...)
}

func Run(w *screen.World, about screen.Subject) screen.Do {
	question := "Run " + screen.JobsText(about) + " now?"
	var detail []string
	if rows := w.Rows(about); len(rows) == 1 {
		r := rows[0]
		question = fmt.Sprintf("Run %s now as %s?", r.Job, r.User)
		if r.Took > 0 {
			question += "  takes about " + display.Brief(r.Took)
		}
		if !r.Next.IsZero() {
			question += "; the run at " + w.Point(r.Next, r.Zone) + " stays scheduled"
		}
		if r.Live > 0 {
			live := "It is already running"
			if r.State != job.StateRunning {
				live = "A run of it already waits to start"
			}
			detail = append(detail, live+": overlap= of its entry decides whether a second run may start.")
		}
	}
	request := api.RunRequest{Refs: screen.Refs(about)}
	do := screen.Do{Class: screen.Effects, Question: question, Detail: detail, Command: Command("run", about)}
	start(&do, func(ctx context.Context, d screen.Daemon) ([]job.Run, error) { return d.Run(ctx, request) })
	return Guard(w, about, do)
}

// start has an action start runs. Who watches sees the run that this call started; the newest run
// of the job may still be an older one then.
func start(do *screen.Do, call func(context.Context, screen.Daemon) ([]job.Run, error)) {
	var runs []job.Run
	do.Call = func(ctx context.Context, d screen.Daemon) (message string, err error) {
		runs, err = call(ctx, d)
		return runsMessage("started", runs), err
	}
	do.Watch = func() []screen.Effect {
		if len(runs) == 0 {
			return nil
		}
		r := &runs[0]
		return []screen.Effect{screen.Show{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{r.Job}, Run: r.ID}}}
	}
}

func runsMessage(verb string, runs []job.Run) string {
	switch len(runs) {
	case 0:
		return "nothing " + verb
	case 1:
		return fmt.Sprintf("%s run %d of %s", verb, runs[0].ID, runs[0].Job)
	}
	return fmt.Sprintf("%s %d runs", verb, len(runs))
}

func Stop(w *screen.World, about screen.Subject) screen.Do {
	request := api.StopRequest{Refs: screen.Refs(about)}
	d := screen.Do{
		Class: screen.Kills, Question: "Stop " + screen.JobsText(about) + "?", Command: Command("stop", about),
		Detail: []string{"TERM is sent to all its processes, and KILL to the remaining ones after 10 s, or stop-grace= if the entry sets it."},
	}
	if runs := runsOf(about); len(runs) > 0 {
		request.Refs = runs
		d.Question, d.Command = "Stop "+runsText(runs)+"?", append([]string{"cronring", "stop"}, runs...)
	} else if rows := w.Rows(about); len(rows) == 1 && !rows[0].Began.IsZero() {
		d.Question += "  it has been running for " + display.Brief(w.Now.Sub(rows[0].Began).Truncate(time.Second))
	}
	d.Learn = living(about, w.Now)
	d.Call = func(ctx context.Context, daemon screen.Daemon) (string, error) {
		runs, err := daemon.Stop(ctx, request)
		return runsMessage("stopping", runs), err
	}
	return guardRuns(w, about, d)
}

// guardRuns is Guard for an action that applies to the marked runs, not to their jobs.
func guardRuns(w *screen.World, about screen.Subject, d screen.Do) screen.Do {
	d = Guard(w, about, d)
	if n := len(about.Runs); n > 1 && d.Class != screen.Protected || n > 0 && d.Class == screen.Removes {
		d.Class, d.Count = screen.Removes, n
	}
	return d
}

// runsOf returns the numbers of the runs that a subject is about. It returns none if the subject is about
// jobs.
func runsOf(about screen.Subject) (numbers []string) {
	for _, r := range about.Runs {
		numbers = append(numbers, r.String())
	}
	if len(numbers) == 0 && about.Run != 0 && !about.Marked {
		numbers = []string{about.Run.String()}
	}
	return numbers
}

// runsText returns the number of the only run, or the number of runs.
func runsText(numbers []string) string {
	if len(numbers) == 1 {
		return "run " + numbers[0]
	}
	return fmt.Sprintf("%d runs", len(numbers))
}

// living names the processes of what is about to be stopped.
func living(about screen.Subject, now time.Time) func(context.Context, screen.Daemon) ([]string, error) {
	const some = 5
	return func(ctx context.Context, d screen.Daemon) ([]string, error) {
		var runs []job.Run
		if numbers := runsOf(about); len(numbers) > 0 {
			for _, n := range numbers[:min(len(numbers), some+1)] {
				r, err := d.OneRun(ctx, n)
				if err != nil {
					return nil, err
				}
				runs = append(runs, r)
			}
		} else {
			found, err := d.History(ctx, api.Filter{Refs: screen.Refs(about), Live: true, Limit: some + 1})
			if err != nil {
				return nil, err
			}
			runs = found.Runs
		}
		var lines []string
		for _, r := range runs[:min(len(runs), some)] {
			lines = append(lines, processText(&r, now))
		}
		if len(runs) > some {
			lines = append(lines, "and more")
		}
		return lines, nil
	}
}

// processText describes a run that is about to be stopped, by its process if it has one.
func processText(r *job.Run, now time.Time) string {
	switch {
	case !r.State.Live():
		return fmt.Sprintf("run %d of %s has ended: %s", r.ID, r.Job, r.ResultOrState())
	case r.PID == 0:
		return fmt.Sprintf("run %d of %s: no process yet, it is %s", r.ID, r.Job, r.ResultOrState())
	}
	text := fmt.Sprintf("pid %d: run %d of %s", r.PID, r.ID, r.Job)
	if r.User != "" {
		text += " as " + r.User
	}
	return text + ", running for " + display.Brief(now.Sub(r.Started).Truncate(time.Second))
}

// Retry runs an occurrence again: that of a run which is over, of a job that of
// its newest run which failed.
func Retry(w *screen.World, about screen.Subject) screen.Do {
	request, again := api.RetryRequest{Refs: screen.Refs(about)}, "the last failure of "+screen.JobsText(about)
	if runs := runsOf(about); len(runs) > 0 {
		request.Refs, again = runs, runsText(runs)
	}
	do := screen.Do{
		Class: screen.Effects, Question: "Run " + again + " again, for the same occurrence?",
		Detail:  []string{"It starts again at attempt 1 and clears the dead letter."},
		Command: append([]string{"cronring", "retry"}, request.Refs...),
	}
	start(&do, func(ctx context.Context, d screen.Daemon) ([]job.Run, error) { return d.Retry(ctx, request) })
	return guardRuns(w, about, do)
}

// Paused reports whether all jobs of a subject are paused.
func Paused(w *screen.World, about screen.Subject) bool {
	rows := w.Rows(about)
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(r api.Row) bool { return !r.Paused })
}

// Pause pauses jobs until a time, or until they are resumed if it is zero.
func Pause(w *screen.World, about screen.Subject, until time.Time, reason string) screen.Do {
	stop, start := pauseDo(about, until, reason), resumeDo(about)
	stop.Undo = &start
	return Guard(w, about, stop)
}

// Resume ends the pauses of jobs. Its undo pauses them until the time at which all their pauses would have
// ended, or until they are resumed.
func Resume(w *screen.World, about screen.Subject) screen.Do {
	var until time.Time
	rows := w.Rows(about)
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r api.Row) bool { return !r.HeldUntil.Equal(rows[0].HeldUntil) }) {
		until = rows[0].HeldUntil
	}
	stop, start := pauseDo(about, until, ""), resumeDo(about)
	start.Undo = &stop
	return Guard(w, about, start)
}

func pauseDo(about screen.Subject, until time.Time, reason string) screen.Do {
	var flags []string
	if !until.IsZero() {
		flags = append(flags, "--until", until.UTC().Format(time.RFC3339))
	}
	if reason != "" {
		flags = append(flags, "--reason", reason)
	}
	return screen.Do{
		Class: screen.Undoable, Question: "paused " + screen.JobsText(about), Command: Command("pause", about, flags...),
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			_, err := d.Pause(ctx, api.PauseRequest{Refs: screen.Refs(about), Until: until, Reason: reason})
			return "paused " + screen.JobsText(about), err
		},
	}
}

func resumeDo(about screen.Subject) screen.Do {
	return screen.Do{
		Class: screen.Undoable, Question: "resumed " + screen.JobsText(about), Command: Command("resume", about),
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			_, err := d.Resume(ctx, api.ResumeRequest{Refs: screen.Refs(about)})
			return "resumed " + screen.JobsText(about), err
		},
	}
}

func Acknowledge(w *screen.World, about screen.Subject) screen.Do {
	seen, unseen := ackDo(about, false), ackDo(about, true)
	seen.Undo = &unseen
	return Guard(w, about, seen)
}

func ackDo(about screen.Subject, undo bool) screen.Do {
	message, line := "acknowledged "+screen.JobsText(about), Command("ack", about)
	if undo {
		message, line = screen.JobsText(about)+" counts as failing again", Command("ack", about, "--undo")
	}
	return screen.Do{
		Class: screen.Undoable, Question: message, Command: line,
		Call: func(ctx context.Context, d screen.Daemon) (string, error) {
			_, err := d.Ack(ctx, api.AckRequest{Refs: screen.Refs(about), Undo: undo})
			return message, err
		},
	}
}
