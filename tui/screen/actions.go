package screen

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/when"
)

// on makes an action on several jobs, or on a protected one, harder to begin.
func on(w *World, about Subject, d Do) Do {
	if len(about.Jobs) > 1 {
		d.Detail = append(d.Detail, names(about.Jobs))
		if d.Class != Undoable {
			d.Class, d.Count = Removes, len(about.Jobs)
		}
	}
	for _, r := range w.rows(about) {
		if r.Protected {
			d.Class, d.Name = Protected, string(r.Job)
			d.Detail = append(d.Detail, string(r.Job)+" is protected: its entry says so")
			break
		}
	}
	return d
}

// command is the one that does the same to all jobs of an action.
func command(verb string, about Subject, flags ...string) []string {
	return append(append([]string{"cronring", verb}, refs(about)...), flags...)
}

func run(w *World, about Subject) Do {
	question := "Run " + what(about) + " now?"
	var detail []string
	if rows := w.rows(about); len(rows) == 1 {
		r := rows[0]
		question = fmt.Sprintf("Run %s now as %s?", r.Job, r.User)
		if r.Took > 0 {
			question += "  takes about " + when.Brief(r.Took)
		}
		if !r.Next.IsZero() {
			question += ", the one at " + w.Point(r.Next, r.Zone) + " stays"
		}
		if r.Live > 0 {
			detail = append(detail, "It is running already: overlap= of its entry decides whether a second one may start.")
		}
	}
	request := api.RunRequest{Refs: refs(about)}
	return on(w, about, Do{
		Class: Effects, Question: question, Detail: detail, Command: command("run", about),
		Call: func(ctx context.Context, d Daemon) (string, error) {
			runs, err := d.Run(ctx, request)
			return runsSaid("started", runs), err
		},
		Watch: watch(about),
	})
}

// watch shows the output of the job that an action started.
func watch(about Subject) func(*World) []Effect {
	if len(about.Jobs) != 1 {
		return nil
	}
	return func(*World) []Effect { return []Effect{Show{keys.ShowOutput, Subject{Jobs: about.Jobs}}} }
}

func runsSaid(verb string, runs []job.Run) string {
	switch len(runs) {
	case 0:
		return "nothing " + verb
	case 1:
		return fmt.Sprintf("%s run %d of %s", verb, runs[0].ID, runs[0].Job)
	}
	return fmt.Sprintf("%s %d runs", verb, len(runs))
}

func stop(w *World, about Subject) Do {
	request := api.StopRequest{Refs: refs(about)}
	d := Do{
		Class: Kills, Question: "Stop " + what(about) + "?", Command: command("stop", about),
		Detail: []string{"TERM goes to all its processes, and KILL to those that are left after its kill-after= (10 s unless the entry says otherwise)."},
	}
	if about.Run != 0 && !about.Marked {
		number := fmt.Sprint(about.Run)
		request.Refs = []string{number}
		d.Question, d.Command = "Stop run "+number+"?", []string{"cronring", "stop", number}
	}
	if rows := w.rows(about); len(rows) == 1 && !rows[0].Began.IsZero() {
		d.Question += fmt.Sprintf("  it has been running for %s", when.Brief(w.Now.Sub(rows[0].Began).Truncate(time.Second)))
	}
	d.Learn = living(about)
	d.Call = func(ctx context.Context, daemon Daemon) (string, error) {
		runs, err := daemon.Stop(ctx, request)
		return runsSaid("stopping", runs), err
	}
	return on(w, about, d)
}

// living names the processes of what is about to be stopped.
func living(about Subject) func(context.Context, Daemon) ([]string, error) {
	const some = 5
	return func(ctx context.Context, d Daemon) ([]string, error) {
		var runs []job.Run
		if about.Run != 0 && !about.Marked {
			r, err := d.OneRun(ctx, fmt.Sprint(about.Run))
			if err != nil {
				return nil, err
			}
			runs = []job.Run{r}
		} else {
			found, err := d.History(ctx, api.Filter{Refs: refs(about), Live: true, Limit: some + 1})
			if err != nil {
				return nil, err
			}
			runs = found.Runs
		}
		var lines []string
		for _, r := range runs[:min(len(runs), some)] {
			lines = append(lines, processText(&r))
		}
		if len(runs) > some {
			lines = append(lines, "and more")
		}
		return lines, nil
	}
}

// processText is a run that lives, by its process if it has one.
func processText(r *job.Run) string {
	if r.PID == 0 {
		return fmt.Sprintf("run %d of %s: no process yet, it is %s", r.ID, r.Job, r.Standing())
	}
	text := fmt.Sprintf("pid %d: run %d of %s", r.PID, r.ID, r.Job)
	if r.User != "" {
		text += " as " + r.User
	}
	return text
}

// retry runs an occurrence again: that of a run which is over, of a job that of
// its newest run which failed.
func retry(w *World, about Subject) Do {
	request, again := api.RetryRequest{Refs: refs(about)}, "what failed last of "+what(about)
	if about.Run != 0 && !about.Marked {
		request.Refs, again = []string{fmt.Sprint(about.Run)}, fmt.Sprintf("run %d", about.Run)
	}
	return on(w, about, Do{
		Class: Effects, Question: "Run " + again + " again, for the same occurrence?",
		Detail:  []string{"It begins anew with the first attempt; a dead letter is none any more."},
		Command: append([]string{"cronring", "retry"}, request.Refs...),
		Call: func(ctx context.Context, d Daemon) (string, error) {
			runs, err := d.Retry(ctx, request)
			return runsSaid("started", runs), err
		},
		Watch: watch(about),
	})
}

// pause pauses jobs, or resumes them if all are paused.
func pause(w *World, about Subject) Do {
	rows := w.rows(about)
	paused := len(rows) > 0 && !slices.ContainsFunc(rows, func(r api.Row) bool { return r.State != job.StateHeld })
	stop, start := pauseDo(about), resumeDo(about)
	if paused {
		start.Undo = &stop
		return on(w, about, start)
	}
	stop.Undo = &start
	return on(w, about, stop)
}

func pauseDo(about Subject) Do {
	return Do{
		Class: Undoable, Question: "paused " + what(about), Command: command("pause", about),
		Call: func(ctx context.Context, d Daemon) (string, error) {
			_, err := d.Pause(ctx, api.PauseRequest{Refs: refs(about)})
			return "paused " + what(about), err
		},
	}
}

func resumeDo(about Subject) Do {
	return Do{
		Class: Undoable, Question: "resumed " + what(about), Command: command("resume", about),
		Call: func(ctx context.Context, d Daemon) (string, error) {
			_, err := d.Resume(ctx, api.ResumeRequest{Refs: refs(about)})
			return "resumed " + what(about), err
		},
	}
}

func acknowledge(w *World, about Subject) Do {
	seen, unseen := ackDo(about, false), ackDo(about, true)
	seen.Undo = &unseen
	return on(w, about, seen)
}

func ackDo(about Subject, undo bool) Do {
	said, line := "acknowledged "+what(about), command("ack", about)
	if undo {
		said, line = what(about)+" counts as failing again", command("ack", about, "--undo")
	}
	return Do{
		Class: Undoable, Question: said, Command: line,
		Call: func(ctx context.Context, d Daemon) (string, error) {
			_, err := d.Ack(ctx, api.AckRequest{Refs: refs(about), Undo: undo})
			return said, err
		},
	}
}
