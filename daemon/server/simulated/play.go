package simulated

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// Played is how a run goes: it ends Took after its start, or not at all if Took is 0.
type Played struct {
	Took    time.Duration
	Outcome job.Outcome
	Usage   job.Usage
	Output  []Print
}

// Print is output of a played run.
type Print struct {
	After  time.Duration // since the start of the run
	Stream job.Stream
	Text   string
}

// Play lets time pass until an instant, with a step whenever the engine needs one. The runs that it
// starts are on time, and go as play decides. A later Play continues with those that have not ended.
func (w *World) Play(until string, play func(effect.Start) Played) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for end := instant(until); ; {
		next := end
		if wake := w.engine.Wake(); !wake.IsZero() && wake.Before(next) {
			next = wake
		}
		for _, e := range w.ends {
			if e.At.Before(next) {
				next = e.At
			}
		}
		if d := next.Sub(w.now); d > 0 {
			w.now, w.up = next, w.up+d
		}
		var due []event.Event
		w.ends = slices.DeleteFunc(w.ends, func(e event.Ended) bool {
			if over := !e.At.After(w.now); over {
				due = append(due, e)
				return true
			}
			return false
		})
		w.printLocked()
		idle := len(due) == 0 && !w.now.Before(end)
		var started []event.Event
		for _, e := range w.stepLocked(due...) {
			if e, ok := e.(effect.Start); ok {
				started = append(started, w.playLocked(e, play(e)))
			}
		}
		if len(started) > 0 {
			w.stepLocked(started...)
		}
		if wake := w.engine.Wake(); idle && len(started) == 0 && (wake.IsZero() || wake.After(w.now)) {
			return
		}
	}
}

// startLag is the time from the decision of a played run to its start.
const startLag = 4 * time.Millisecond

func (w *World) playLocked(e effect.Start, p Played) event.Event {
	began := w.now.Add(startLag)
	for _, o := range p.Output {
		w.prints = append(w.prints, job.Chunk{
			Run: e.Run.ID, Job: e.Job.ID, User: e.Job.User, Stream: o.Stream, At: began.Add(o.After), Data: []byte(o.Text),
		})
	}
	if p.Took > 0 {
		w.ends = append(w.ends, event.Ended{Run: e.Run.ID, Outcome: p.Outcome, Usage: p.Usage, At: began.Add(p.Took)})
	}
	return event.Started{Run: e.Run.ID, PID: 4000 + int(e.Run.ID), At: began}
}

// printLocked adds and publishes what played runs have printed by now.
func (w *World) printLocked() {
	w.prints = slices.DeleteFunc(w.prints, func(c job.Chunk) bool {
		if c.At.After(w.now) {
			return false
		}
		w.Chunks[c.Run] = append(w.Chunks[c.Run], c)
		w.Publish(api.Event{Chunk: &c})
		return true
	})
}
