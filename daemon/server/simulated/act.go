package simulated

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// killLag is the time from the decision to stop a played run to its end.
const killLag = 200 * time.Millisecond

// Act does what Ask does. It also plays the runs that the event starts, and ends those that it stops.
func (w *World) Act(e event.Event, play func(effect.Start) Played) (effect.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q, ok := e.(event.Question); ok {
		e = event.Asked{Question: q, Token: 1}
	}
	answer, err := effect.Answer{}, errors.New("the engine gave no answer")
	var started []event.Event
	for _, x := range w.stepLocked(e) {
		switch x := x.(type) {
		case effect.Answer:
			answer, err = x, nil
		case effect.Start:
			started = append(started, w.playLocked(x, play(x)))
		case effect.Kill:
			w.killLocked(x)
		}
	}
	if len(started) > 0 {
		w.stepLocked(started...)
	}
	return answer, err
}

func (w *World) killLocked(k effect.Kill) {
	if k.Signal == syscall.Signal(0) {
		return
	}
	w.ends = slices.DeleteFunc(w.ends, func(e event.Ended) bool { return e.Run == k.Run })
	w.prints = slices.DeleteFunc(w.prints, func(c job.Chunk) bool { return c.Run == k.Run })
	w.ends = append(w.ends, event.Ended{
		Run: k.Run, Outcome: job.Outcome{Kind: job.Signalled, Signal: int(k.Signal)}, At: w.now.Add(killLag),
	})
}
