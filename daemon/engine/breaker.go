package engine

import (
	"fmt"
	"maps"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// breaker=N/D holds a job for D after N occurrences in a row have failed. The first
// occurrence after that is a probe. While the probe is live, no other occurrence starts;
// its success closes the breaker, and its failure opens it for D again. Manual runs pass
// the breaker, and can be the probe. Further attempts pass together with their
// occurrence.

// broken returns why the breaker stops an occurrence, or "".
func (e *Engine) broken(j *firing) (detail string) {
	b := j.options.Breaker
	if b.Failures == 0 || j.by != "" || j.run != nil && (j.run.Attempt > 1 || j.run.asked()) {
		return ""
	}
	l := e.ledger(j.id, j.entry.User())
	if l.Open.IsZero() {
		return ""
	}
	if l.Open.Sub(e.now.Wall) > b.Hold { // the clock was set back, or D is shorter now
		l.Open = e.now.Wall.Add(b.Hold)
		e.setLedger(l)
	}
	if e.now.Wall.Before(l.Open) {
		return fmt.Sprintf("until %s, after %d failures in a row", l.Open.In(j.entry.Zone().Location()).Format(time.RFC3339), l.Bad)
	}
	for _, r := range e.liveOf(j) {
		if r != j.run && r.probes(l.Open) {
			return fmt.Sprintf("run %d tries whether it works again", r.ID)
		}
	}
	return ""
}

// probes reports whether a run began after the hold of a breaker was over. A run that was
// already waiting before that becomes a probe only when it starts.
func (r *run) probes(open time.Time) bool {
	began := r.Run.Started
	switch {
	case open.IsZero():
		return false
	case r.State == job.RunQueued, r.State == job.RunWaiting, r.State == job.RunDropped:
		began = r.Decided
	case r.State == job.RunDecided: // being started now
		return true
	case began.IsZero(): // it could not be started
		began = r.Run.Ended
	}
	return !began.Before(open)
}

// trip opens the breaker after a failure that the ledger counts already.
func (e *Engine) trip(l *job.Ledger, r *run, ended time.Time) {
	b := r.options.Breaker
	if b.Failures > 0 && (l.Open.IsZero() && l.Bad >= b.Failures || r.probes(l.Open)) {
		l.Open = ended.Add(b.Hold)
	}
}

// closeBreaker closes the breaker when a person resumes the job.
func (e *Engine) closeBreaker(j *firing) bool {
	l := e.ledger(j.id, j.entry.User())
	if j.options.Breaker.Failures == 0 || !e.now.Wall.Before(l.Open) {
		return false
	}
	l.Open, l.Bad = time.Time{}, 0
	e.setLedger(l)
	return true
}

// Trouble describes the problems of a job beyond its newest run.
type Trouble struct {
	Broken time.Time // breaker= holds the job until then; zero: it does not
	Bad    int       // failures in a row
	Late   bool      // a run started later than max-late= or took longer than max-run=, and none has been on time since
	Unseen bool      // no success within expect=
	Ack    *job.Ack  // acknowledgement of its failures
}

// Words returns the warning of max-late=, max-run= or expect=, or "".
func (t Trouble) Words() string {
	switch {
	case t.Unseen:
		return "no success within the time that expect= gives"
	case t.Late:
		return "a run was later than max-late= or longer than max-run=, and none has been in time since"
	}
	return ""
}

// noteTrouble updates the troubles that views show from a ledger. Views share the map, so
// it is copied at the first change after each view.
func (e *Engine) noteTrouble(l job.Ledger) {
	key := owned{l.Job, l.User}
	t := Trouble{Broken: l.Open, Late: l.Notified&job.NotifiedLate != 0, Unseen: l.Notified&job.NotifiedExpect != 0, Ack: l.Ack}
	before, was := e.troubles[key]
	is := t != Trouble{}
	if is {
		t.Bad = l.Bad
	}
	if is == was && t == before {
		return
	}
	if e.shown {
		e.troubles, e.shown = maps.Clone(e.troubles), false
	}
	if is {
		e.troubles[key] = t
	} else {
		delete(e.troubles, key)
	}
}

// Trouble returns the problems of job i beyond its newest run. Its current options
// decide: if breaker= was removed, the job is not held.
func (v *View) Trouble(i int) Trouble {
	t := v.troubles[owned{v.ID(i), v.Entry(i).User()}]
	o := v.jobs.Options(i)
	if !o.Enabled {
		return Trouble{}
	}
	if o.Breaker.Failures == 0 || !v.now.Wall.Before(t.Broken) {
		t.Broken = time.Time{}
	}
	t.Late = t.Late && (o.MaxLate > 0 || o.MaxRun > 0)
	t.Unseen = t.Unseen && o.Expect > 0
	return t
}

// brokenHold returns an open breaker as a pause, or nil.
func (v *View) brokenHold(i int) *job.Hold {
	if len(v.troubles) == 0 {
		return nil
	}
	t := v.Trouble(i)
	if t.Broken.IsZero() {
		return nil
	}
	b := v.jobs.Options(i).Breaker
	return &job.Hold{
		Since: t.Broken.Add(-b.Hold), Until: t.Broken, By: "cronring",
		Reason: fmt.Sprintf("breaker=, %d failures in a row", t.Bad),
	}
}
