// Package live owns the live runs of the engine, with what each of them waits for, the verdict on its
// end, and when it is late or tried again.
package live

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/engine/join"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// Run is a live run: its record, and state that only the engine needs.
type Run struct {
	job.Run
	Recorded     *job.Run        // an immutable copy as of the newest record; nil: none
	Options      *option.Options // options of the entry that decided it
	Zone         *time.Location  // the entry's
	Slot         int             // its job in Engine.jobs; -1: none
	StopReason   job.Reason      // why it is being stopped, or ""
	Gate         Gate            // the gate that it has reached
	Cause        job.Reason      // why it starts, once it has passed them all
	CauseDetail  job.Detail      // of Cause
	Measuring    bool            // its conditions are being measured
	Unmet        string          // the options of the conditions that did not hold when it last began to wait for others
	Await        *join.Parents   // state of the parents that it waits for; nil: it does not wait for any
	ParentsUntil time.Duration   // Moment.Up at which the wait for parents ends; 0: no limit
	Claim        *slots.Claim    // slots that it holds or waits for; nil: none
	Refused      bool            // the history already has a run of this occurrence
	counted      int             // its contribution to Unstarted
	Hurry        bool            // the daemon is ending, so the grace is short
	KillAt       time.Duration   // Moment.Up of KILL, once a signal was sent
	LastBeat     time.Duration   // Moment.Awake at its newest sign of life, for watchdog=
	GraceSet     bool            // the grace was set explicitly in the stop request
	Opened       time.Time       // when the hours that it waited for began; zero: it did not wait for any
	TokenAt      time.Duration   // Moment.Up at which its Token came
	Reclaimed    bool            // the ring must permit it again before it continues
	Tried        []string        // the members of the ring on which its occurrence could not start
	StoredAt     time.Time       // of a run that is reclaimed after a restart: when the previous daemon was last alive
}

// IsInstalled reports whether the job of a run is installed. Otherwise Slot is the index of no job.
func (r *Run) IsInstalled() bool { return r.Slot >= 0 }

// Gate is the position of a run between overlap= and its process. A run passes the gates
// in this order, and each gate can hold it back.
type Gate uint8

// The gates, in order.
const (
	GateOverlap    Gate = iota // behind earlier runs of its job: see package gate and startNext
	GateConditions             // load=, need-memory= and other conditions of the host
	GateCheck                  // if=
	GateParents                // after=
	GateSlots                  // pools, max-running
	GateToken                  // a fencing token as new as the start
	GateOpen
)

// IsQueued reports whether a run waits for an earlier run of its job.
func (r *Run) IsQueued() bool { return r.WaitsOn() == job.WaitsOnRun }

// IsOf reports whether a run belongs to a user. Any user can choose any name for a job,
// so a run with the name of a job is not necessarily a run of that job.
func IsOf(r *Run, user string) bool { return r.User == "" || r.User == user }

// HasParents reports whether a run waits for parents at all.
func (r *Run) HasParents() bool {
	switch r.Trigger {
	case job.TriggerManual, job.TriggerBackfill, job.TriggerRetry:
		return false
	}
	return len(r.Options.After) > 0 && !r.Forced && r.Backfill == 0
}

// WaitsForParents reports whether a run waits for its parents.
func (r *Run) WaitsForParents() bool { return r.WaitsOn() == job.WaitsOnParents }

// WithParents returns all parents of a run: first the parent whose end started it by on=,
// then the parents in after=.
func (r *Run) WithParents(w *join.Parents) []job.Parent {
	var own []job.Parent
	if r.Trigger == job.TriggerDependency && len(r.Parents) > 0 {
		own = r.Parents[:1]
	}
	return slices.Concat(own, w.Known)
}

// KeepParents makes a run keep what it knows of its parents, for KnownParent.
func (r *Run) KeepParents() {
	if r.Await != nil {
		r.Parents = r.WithParents(r.Await)
	}
}

// KnownParent returns what a run that has not passed its parents last kept of one of them.
func (r *Run) KnownParent(id job.ID) job.Parent {
	known := r.Parents
	if r.Trigger == job.TriggerDependency && len(known) > 0 {
		known = known[1:] // the first one started it
	}
	for _, p := range known {
		if p.Job == id {
			return p
		}
	}
	return job.Parent{}
}

// WaitsForTime reports whether a run waits only for time to pass.
func (r *Run) WaitsForTime() bool {
	on := r.WaitsOn()
	return on == job.WaitsOnRetry || on == job.WaitsOnDelay || on == job.WaitsOnHours || on == job.WaitsOnConditions
}

// GateOf returns the gate of a run that another daemon held back.
func GateOf(r *job.Run) Gate {
	switch r.WaitsOn() {
	case job.WaitsOnRun:
		return GateOverlap
	case job.WaitsOnParents:
		return GateParents
	case job.WaitsOnRetry, job.WaitsOnSlot, job.WaitsOnClaim:
		return GateSlots
	case job.WaitsOnCheck:
		return GateCheck
	}
	return FirstGate(r)
}

// FirstGate returns the first gate of a run after overlap=. A further attempt needs only slots and
// a token.
func FirstGate(r *job.Run) Gate {
	if r.Attempt > 1 {
		return GateSlots
	}
	return GateConditions
}

// Requested reports whether a person requested the run. That person watches the run: it does
// not count towards the failures in a row, and sends no notification except that a
// success ended trouble.
func (r *Run) Requested() bool { return r.By != "" || r.Backfill != 0 }

// IsOfEvent reports whether the run belongs to an event, which no later time replaces. So does an
// attempt after the first if nothing but events starts its job.
func (r *Run) IsOfEvent() bool {
	switch r.Trigger {
	case job.TriggerEvent, job.TriggerDependency:
		return true
	case job.TriggerRetry:
		return r.Options.IsStartedByEvents() && !r.Options.StartsAtBoot()
	}
	return false
}

// NewClaim returns a new claim of a run, with its current options.
func NewClaim(r *Run) *slots.Claim {
	return &slots.Claim{Run: r.ID, Job: r.Job, User: r.User, Priority: r.Options.Priority, PoolName: r.Options.Pool, Slots: r.Options.Slots, Preempt: r.Options.Preempt}
}

// IsLinedUp reports whether a run is in the queue for slots.
func (r *Run) IsLinedUp() bool { return r.Claim != nil && r.Claim.Waits() }

// HasProcess reports whether a run has a process, or is about to get one.
func (r *Run) HasProcess() bool { return r.State == job.RunDecided || r.State == job.RunRunning }

// AfterWait returns the reason for the start of a run that waited for its time.
func (r *Run) AfterWait() job.Reason {
	switch {
	case r.WaitsOn() == job.WaitsOnDelay:
		return job.RanAfterDelay
	case r.WaitsOn() == job.WaitsOnHours:
		return job.RanAfterHours
	case r.WaitsOn() == job.WaitsOnConditions:
		return job.RanAfterConditions
	case r.Lost > 0 && !r.NotBefore.After(r.Decided):
		return job.Rerun
	}
	return job.Retried
}
