package analysis

import (
	"os"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// rehearsal drives the daemon's own engine with a virtual clock, which jumps
// from one instant at which something happens to the next.
type rehearsal struct {
	engine *engine.Engine
	from   time.Time
	to     time.Time     // exclusive
	takes  time.Duration // how long each run takes
	seen   func(at time.Time, e effect.Effect) error

	at     time.Time
	events []event.Event // for the next step, which is at the same instant
	ends   []runEnd      // in order of time, as all runs take equally long
	killed map[job.RunID]bool
}

// runEnd is a run that ends by itself.
type runEnd struct {
	at  time.Time
	run job.RunID
}

// rehearse simulates crontabs from one instant up to, but not including, another, as if
// the daemon had been up all along; @reboot entries do not run. It calls seen with each
// effect.
func rehearse(crontabs []*crontab.File, blackouts timetable.Blackouts, from, to time.Time, takes time.Duration, seen func(time.Time, effect.Effect) error) (*view.View, error) {
	r := &rehearsal{
		engine: engine.New(engine.State{}),
		from:   from, to: to, takes: takes, seen: seen, killed: map[job.RunID]bool{},
	}
	// What is due at the moment of a load is not missed, so the load comes
	// just before the first instant that counts.
	r.at = from.Add(-1)
	r.events = []event.Event{event.Load{Crontabs: crontabs, Blackouts: blackouts, Node: HostName()}}
	for ok := true; ok; r.at, ok = r.next() {
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	return r.engine.View(), nil
}

// next is the instant of the next step, if that is before the end.
func (r *rehearsal) next() (time.Time, bool) {
	if len(r.events) > 0 {
		return r.at, true
	}
	at := r.engine.Wake()
	if len(r.ends) > 0 && (at.IsZero() || r.ends[0].at.Before(at)) {
		at = r.ends[0].at
	}
	return at, !at.IsZero() && at.Before(r.to)
}

func (r *rehearsal) step() error {
	// The host has been up for a while: 0 would stand for "not known".
	now := job.Moment{Wall: r.at, Up: time.Hour + r.at.Sub(r.from)}
	events := r.events
	r.events = nil
	for len(r.ends) > 0 && !r.ends[0].at.After(r.at) {
		if !r.killed[r.ends[0].run] {
			events = append(events, event.Ended{Run: r.ends[0].run, Outcome: job.Outcome{Kind: job.Exited}})
		}
		delete(r.killed, r.ends[0].run)
		r.ends = r.ends[1:]
	}
	for _, e := range r.engine.Step(now, events...) {
		r.perform(e)
		if err := r.seen(r.at, e); err != nil {
			return err
		}
	}
	return nil
}

// HostName is this host's name for host=, or "" where it has none.
func HostName() string {
	name, _ := os.Hostname()
	return name
}

// perform carries out an effect in the simulation.
func (r *rehearsal) perform(e effect.Effect) {
	switch e := e.(type) {
	case effect.Start:
		r.events = append(r.events, event.Started{Run: e.Run.ID})
		if r.takes == 0 {
			r.events = append(r.events, event.Ended{Run: e.Run.ID, Outcome: job.Outcome{Kind: job.Exited}})
			return
		}
		r.ends = append(r.ends, runEnd{r.at.Add(r.takes), e.Run.ID})
	case effect.Check: // nothing is run here: the command of if= always allows
		r.events = append(r.events, event.Checked{Run: e.Run.ID, Outcome: job.Outcome{Kind: job.Exited}})
	case effect.Kill:
		if !r.killed[e.Run] {
			r.killed[e.Run] = true
			r.events = append(r.events, event.Ended{Run: e.Run, Outcome: job.Outcome{Kind: job.Signalled, Signal: int(e.Signal)}})
		}
	}
}
