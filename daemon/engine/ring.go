package engine

import (
	"iter"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// RingMode is the mode of the ring in the configuration.
type RingMode uint8

// The modes.
const (
	NoRing    RingMode = iota // this host is not in a ring
	Available                 // members decide by what they see of each other
	Strict                    // the voters grant occurrences and record this in a ledger
)

// Ring decides which member of a ring runs an occurrence. It is stepped with the same
// readings of the clocks as the engine.
type Ring interface {
	// Step handles words of the engine, and what has arrived from other members.
	Step(now Moment, words ...exchange.Word) []exchange.Answer
	// Wake returns when the next Step is needed, as Moment.Up.
	Wake() (at time.Duration, ok bool)
	View() exchange.View
}

// ring is what the engine knows of the ring that the host is a member of.
type ring struct {
	mode     RingMode
	members  exchange.Members
	unbegun  map[job.RunID]*run
	words    []exchange.Word // that the ring has not received yet
	wake     time.Duration   // Moment.Up at which the ring needs a step; 0: not known
	view     exchange.View
	expected time.Duration // Moment.Up for which the last step requested the next one; 0: not known
}

func newRing() ring {
	return ring{unbegun: map[job.RunID]*run{}, view: exchange.NoRing{}}
}

// StepIn is Step for a host in a ring: it steps the ring and the engine in turn, until
// neither has a message for the other. If ring is nil, the host is in no ring.
func (e *Engine) StepIn(ring Ring, now Moment, events ...Event) []Effect {
	if ring == nil {
		return e.Step(now, events...)
	}
	r := &e.ring
	if r.expected > 0 && r.members.HoldOff > 0 && now.Up-r.expected >= r.members.HoldOff/2 {
		r.tell(exchange.Slept{})
	}
	var out []Effect
	for answers, first := ring.Step(now, r.takeWords()...), true; first || len(answers) > 0; first = false {
		out = append(out, e.step(now, answers, events)...)
		events = nil
		answers = ring.Step(now, r.takeWords()...)
	}
	r.view = ring.View()
	r.wake, _ = ring.Wake()
	r.expected = 0
	if wake := e.Wake(); !wake.IsZero() {
		r.expected = max(now.Up, now.UpAt(wake))
	}
	return out
}

// tell sends a word to the ring, if the host is in one.
func (r *ring) tell(w exchange.Word) {
	if r.mode != NoRing {
		r.words = append(r.words, w)
	}
}

func (r *ring) takeWords() []exchange.Word {
	all := r.words
	r.words = nil
	return all
}

// next returns when the next step is needed for the ring. While a run of the ring has not
// begun, it returns a time early enough to notice a suspend of this host.
func (r *ring) next(now Moment) (at time.Duration, ok bool) {
	at, ok = r.wake, r.wake > 0
	if len(r.unbegun) > 0 && r.members.Open {
		if look := now.In(r.members.HoldOff); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}

// hear handles a message of the ring.
func (e *Engine) hear(a exchange.Answer) {
	about := func(o exchange.Occurrence, do func(slot int)) {
		if slot, ok := e.jobs.FindRing(o.Key); ok {
			do(slot)
		}
	}
	switch a := a.(type) {
	case exchange.Members:
		e.join(a)
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

// join applies what is known of the members.
func (e *Engine) join(m exchange.Members) {
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
		if next := nextAfter(e.jobs.Entry(slot).Schedule, time.Unix(0, e.marks[slot]).UTC()); !next.IsZero() && !next.After(e.now.Wall) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// tellHost reports this host's jobs to the ring.
func (e *Engine) tellHost() {
	e.ring.tell(exchange.Host{Jobs: e.jobs, Holdings: e.candidates(), Strict: e.ring.mode == Strict, Draining: e.draining})
}

// RingJobs returns the number of ring jobs.
func (v *View) RingJobs() int { return len(v.jobs.RingJobs()) }

// Holdings returns the ring jobs that this host may run, by their numbers.
func (v *View) Holdings() iter.Seq2[int, catalog.Holding] {
	return func(yield func(int, catalog.Holding) bool) {
		for slot, h := range v.jobs.EachHolding() {
			if _, barred := v.bars[v.jobs.Entry(slot).User()]; !barred && !yield(slot, h) {
				return
			}
		}
	}
}

// SameRing reports that both views have the same jobs and members.
func (v *View) SameRing(o *View) bool { return v.jobs == o.jobs && v.SameMembers(o.View) }

// Drained returns the ring's runs that are still on this host, oldest first. ok is false
// for a member that claims occurrences.
func (v *View) Drained() (here []job.Run, ok bool) {
	if !v.TakesNothing() {
		return nil, false
	}
	return slices.DeleteFunc(v.Runs(), func(r job.Run) bool {
		_, shared := v.jobs.FindRing(job.KeyOf(r.Job, r.User))
		return !shared || r.By != "" || r.Backfill != 0
	}), true
}

// eraOf returns the era of the decisions that a job makes now.
func (e *Engine) eraOf(o *option.Options) job.Era {
	if o.Scope == option.ScopeRing {
		return 0
	}
	return e.era
}
