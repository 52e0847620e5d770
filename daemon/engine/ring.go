package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

// Ring decides which member of a ring runs an occurrence. It is stepped with the same
// readings of the clocks as the engine.
type Ring interface {
	// Step handles messages of the engine, and what has arrived from other members.
	Step(now job.Moment, messages ...exchange.Message) []exchange.Answer
	// Wake returns when the next Step is needed, as Moment.Up.
	Wake() (at time.Duration, ok bool)
	View() exchange.View
}

// ringState is what the engine knows of the ring that the host is a member of.
type ringState struct {
	mode     event.RingMode
	members  exchange.Members
	unbegun  map[job.RunID]*live.Run
	handed   map[exchange.Occurrence]*live.Run // see handOver; until another member has their occurrences
	messages []exchange.Message                // that the ring has not received yet
	wake     time.Duration                     // Moment.Up at which the ring needs a step; 0: not known
	view     exchange.View
	expected time.Duration // Moment.Up for which the last step requested the next one; 0: not known
	closed   bool          // this host has a blackout
	reopens  time.Duration // Moment.Up at which that is checked again; 0: no ring job needs that
}

// reopenTime is how long before the end of a blackout this host becomes a candidate again. The other
// members have learned it when the blackout ends.
const reopenTime = 5 * time.Second

func newRing() ringState {
	return ringState{unbegun: map[job.RunID]*live.Run{}, handed: map[exchange.Occurrence]*live.Run{}, view: exchange.NoRing{}}
}

// StepIn is Step for a host in a ring: it steps the ring and the engine in turn, until
// neither has a message for the other.
func (e *Engine) StepIn(ring Ring, now job.Moment, events ...event.Event) []effect.Effect {
	r := &e.ring
	if r.expected > 0 && r.members.HoldOff > 0 && now.Up-r.expected >= r.members.HoldOff/2 {
		r.send(exchange.Slept{})
	}
	var out []effect.Effect
	for answers, first := ring.Step(now, r.takeMessages()...), true; first || len(answers) > 0; first = false {
		out = append(out, e.step(now, answers, events)...)
		events = nil
		answers = ring.Step(now, r.takeMessages()...)
	}
	r.view = ring.View()
	r.wake, _ = ring.Wake()
	r.expected = 0
	if wake := e.Wake(); !wake.IsZero() {
		r.expected = max(now.Up, now.UpAt(wake))
	}
	return out
}

// send sends a message to the ring, if the host is in one.
func (r *ringState) send(m exchange.Message) {
	if r.mode != event.NoRing {
		r.messages = append(r.messages, m)
	}
}

func (r *ringState) takeMessages() []exchange.Message {
	all := r.messages
	r.messages = nil
	return all
}

// isShared reports whether a run belongs to an occurrence of the ring. A manual run does not. On a
// host in no ring it returns false, even for a run that has waited since the host was in one.
func (e *Engine) isShared(r *live.Run) bool {
	if e.ring.mode == event.NoRing || r.Options.Scope != option.ScopeRing || r.Requested() {
		return false
	}
	switch r.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
		return true
	}
	return false
}

// wakeAt returns when the next step is needed for the ring. While a run of the ring has not
// begun, it returns a time early enough to notice a suspend of this host.
func (r *ringState) wakeAt(now job.Moment) (at time.Duration, ok bool) {
	at, ok = r.wake, r.wake > 0
	if r.reopens > 0 && (!ok || r.reopens < at) {
		at, ok = r.reopens, true
	}
	if len(r.unbegun) > 0 && r.members.Open {
		if look := now.In(r.members.HoldOff); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}

// handleAnswer handles a message of the ring.
func (e *Engine) handleAnswer(a exchange.Answer) {
	about := func(o exchange.Occurrence, do func(slot int)) {
		if slot, ok := e.jobs.FindRing(o.Key); ok {
			do(slot)
		}
	}
	switch a := a.(type) {
	case exchange.Members:
		e.updateMembers(a)
	case exchange.Recheck:
		e.recheck(a)
	case exchange.Permit:
		about(a.Occurrence, func(slot int) { e.permit(slot, a) })
	case exchange.Deny:
		about(a.Occurrence, func(slot int) { e.deny(slot, a) })
	case exchange.Revoke:
		about(a.Occurrence, func(slot int) { e.revoke(slot, a) })
	case exchange.Elsewhere:
		about(a.Occurrence, func(slot int) { e.ranElsewhere(slot, a.Time()) })
	case exchange.Doubled:
		about(a.Occurrence, func(slot int) { e.doubled(slot, a) })
	}
}

// updateMembers applies what is known of the members.
func (e *Engine) updateMembers(m exchange.Members) {
	before := e.ring.members
	e.ring.members = m
	for key, newest := range m.Newest {
		slot, ok := e.jobs.FindRing(key)
		if !ok {
			continue
		}
		if !before.Known {
			e.ranElsewhere(slot, newest)
		}
		// A mark in the future comes from a member whose clock is ahead. Earlier
		// occurrences may belong to this member, and are not due here yet.
		if ahead := newest.After(e.now.Wall); !ahead || !before.Known {
			e.marks[slot] = max(e.marks[slot], min(newest.UnixNano(), e.now.Wall.UnixNano()))
		}
	}
	if m.Open && !before.Open {
		e.pending = slices.Compact(slices.Sorted(slices.Values(append(e.pending, e.behindShared()...))))
	}
}

// behindShared lists the ring jobs with an occurrence that is due and was not decided
// while this member could not take any.
func (e *Engine) behindShared() (slots []int) {
	for _, slot := range e.jobs.RingJobs() {
		if next := agenda.Next(e.jobs.Entry(slot).Schedule, time.Unix(0, e.marks[slot]).UTC()); !next.IsZero() && !next.After(e.now.Wall) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// sendHost reports this host's jobs to the ring.
func (e *Engine) sendHost() {
	maps.DeleteFunc(e.ring.handed, func(o exchange.Occurrence, _ *live.Run) bool { _, ok := e.jobs.FindRing(o.Key); return !ok })
	e.ring.send(exchange.Host{Jobs: e.jobs, Holdings: e.candidates(), Strict: e.ring.mode == event.Strict, Draining: e.draining})
}

// isCandidate reports whether this host can run a ring job: its entry is neither
// disabled nor held, its user exists here and may log in, and it would not be skipped
// because of a blackout of the host.
func (e *Engine) isCandidate(slot int) bool {
	o := e.jobs.Options(slot)
	_, barred := e.barred[e.jobs.Entry(slot).User()]
	return o.Enabled && o.Held == "" && !barred && (!e.ring.closed || o.WaitOutside)
}

// candidates returns the ring jobs that can run here. For all other ring jobs, the other
// members do not wait for this one.
func (e *Engine) candidates() []catalog.Holding {
	if len(e.barred) == 0 && !e.ring.closed {
		return e.jobs.Holdings()
	}
	var all []catalog.Holding
	for slot, h := range e.jobs.EachHolding() {
		if e.isCandidate(slot) {
			all = append(all, h)
		}
	}
	return all
}

// barUsers replaces the set of users that may not run jobs.
func (e *Engine) barUsers(users map[string]event.Barred) {
	before := e.candidates()
	e.barred = maps.Clone(users)
	if !slices.Equal(before, e.candidates()) {
		e.sendHost()
	}
}

// checkBlackout updates whether this host has a blackout.
func (e *Engine) checkBlackout() {
	opens, against := e.blackouts.Opens(nil, e.now.Wall)
	closed := against != "" && (opens.IsZero() || opens.Sub(e.now.Wall) > reopenTime)
	e.ring.reopens = 0
	if closed && !opens.IsZero() && len(e.jobs.Holdings()) > 0 {
		e.ring.reopens = e.now.UpAt(opens.Add(-reopenTime))
	}
	if closed != e.ring.closed {
		e.ring.closed = closed
		e.sendHost()
	}
}
