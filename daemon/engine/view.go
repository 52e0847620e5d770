package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// View is an immutable snapshot of the engine. It is cheap to hold, so readers never wait
// for decisions.
type View struct {
	now      Moment
	draining bool
	node     string
	jobs     *catalog.Catalog
	holds    job.Holds
	bars     map[string]Barred
	stamps   map[string]timetable.Day
	busy     map[string]bool // periods that have a live run
	live     []*job.Run
	fills    []job.Backfill
	over     Overflow
	troubles map[owned]Trouble
	labels   map[string]string
	exchange.View
}

// View returns a snapshot as of the last Step.
func (e *Engine) View() *View {
	v := &View{now: e.now, draining: e.draining, node: e.node, jobs: e.jobs, holds: e.holds, bars: e.bars, stamps: e.stamps, labels: e.labels, fills: e.fills.list(), over: e.places.over,
		troubles: e.troubles}
	e.shown, e.lent = true, true
	v.View = e.ring.view
	v.live = make([]*job.Run, 0, len(e.live))
	for _, r := range e.live {
		v.live = append(v.live, r.recorded)
		if p := r.options.Period; p != nil {
			if v.busy == nil {
				v.busy = map[string]bool{}
			}
			v.busy[p.ID] = true
		}
	}
	return v
}

// Now returns the moment of the last Step.
func (v *View) Now() Moment { return v.now }

// Draining reports whether the daemon starts no further runs.
func (v *View) Draining() bool { return v.draining }

// Len returns the number of jobs. They are numbered from 0, in the order of the crontabs.
func (v *View) Len() int { return v.jobs.Len() }

// ID returns the ID of job i.
func (v *View) ID(i int) job.ID { return v.jobs.ID(i) }

// Job returns job i. It is also held while nothing may start for its user.
func (v *View) Job(i int) job.Job {
	j := v.jobs.Job(i)
	if b, barred := v.bars[j.User]; barred && j.Held == "" {
		j.Held = b.Detail
	}
	return j
}

// Edges returns the jobs that after= and on= of job i name. Those of a job that is held
// for its edges are as written.
func (v *View) Edges(i int) (after, on []catalog.Edge) { return v.jobs.Edges(i) }

// Entry returns the crontab entry of job i.
func (v *View) Entry(i int) *crontab.Entry { return v.jobs.Entry(i) }

// RingKey returns the key that identifies job i among the members of a ring. ok is false
// if the job is not a ring job.
func (v *View) RingKey(i int) (key job.Key, ok bool) {
	return v.jobs.RingKey(i), v.jobs.InRing(i)
}

// Find returns the number of a job.
func (v *View) Find(id job.ID) (i int, ok bool) {
	slot, ok := v.jobs.Find(id)
	return slot, ok
}

// Named returns the numbers of the jobs with that name, of all owners, in order.
func (v *View) Named(name string) []int { return v.jobs.Named(name) }

// Next returns the first occurrence of job i after an instant that is planned to run. It
// returns zero if there is none: the schedule has no further time, the job is disabled,
// held or for other hosts, its user may not run jobs, or it is paused without an end. For
// an entry with a period, it returns the time of the start, after delay and hours.
func (v *View) Next(i int, after time.Time) time.Time {
	if !v.Planned(i) {
		return time.Time{}
	}
	if h := v.Hold(i); h != nil {
		if h.Until.IsZero() {
			return time.Time{}
		}
		if h.Until.After(after) {
			after = h.Until.Add(-1)
		}
	}
	if v.jobs.Options(i).Period != nil {
		if at := v.waitsUntil(v.ID(i)); at.After(after) {
			return at
		}
		return v.nextOfPeriod(v.Entry(i), after)
	}
	return nextAfter(v.Entry(i).Schedule, after)
}

// waitsUntil returns when a run of a period that waits for its delay and hours will
// start; zero if there is none.
func (v *View) waitsUntil(id job.ID) time.Time {
	for _, r := range v.live {
		if r.Job == id && r.WaitsOn() == job.WaitsOnDelay {
			return r.NotBefore
		}
	}
	return time.Time{}
}

// Planned reports whether occurrences of job i will run, apart from pauses.
func (v *View) Planned(i int) bool {
	o := v.jobs.Options(i)
	if !o.Enabled || o.Held != "" || !catalog.IsHere(o, v.node) || catalog.Misfit(o, v.labels) != "" && o.Scope != option.ScopeRing {
		return false
	}
	_, barred := v.BarredUser(i)
	return !barred
}

// BarredUser returns why nothing may start for the user of job i. ok is false if runs may
// start.
func (v *View) BarredUser(i int) (b Barred, ok bool) {
	if len(v.bars) == 0 { // finding the user requires parsing the entry
		return b, false
	}
	return v.Barred(v.Entry(i).User())
}

// Hold returns the pause of job i, or nil. An open breaker counts as a pause.
func (v *View) Hold(i int) *job.Hold {
	if len(v.holds) == 0 {
		return v.brokenHold(i)
	}
	h, ok := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !ok || !h.Until.IsZero() && !v.now.Wall.Before(h.Until) {
		return v.brokenHold(i)
	}
	h.User = "" // the caller knows the job
	return &h
}

// Ack returns the acknowledgement of job i's failures, or nil.
func (v *View) Ack(i int) *job.Ack {
	if len(v.troubles) == 0 {
		return nil
	}
	return v.troubles[owned{v.ID(i), v.Entry(i).User()}].Ack
}

// Barred returns why nothing may start for a user. ok is false if runs may start.
func (v *View) Barred(user string) (b Barred, ok bool) {
	b, ok = v.bars[user]
	return b, ok
}

// Stamp returns the day on which the job of a period last ran. ok is false if it is not
// known.
func (v *View) Stamp(id string) (day timetable.Day, ok bool) {
	day, ok = v.stamps[id]
	return day, ok
}

// Live returns the live runs of job i, oldest first. It searches all live runs: for many
// jobs, sort Runs by job once.
func (v *View) Live(i int) []job.Run {
	id, user := v.ID(i), v.Entry(i).User()
	return slices.DeleteFunc(v.Runs(), func(r job.Run) bool { return r.Job != id || r.User != "" && r.User != user })
}

// SameJobs reports that both views have the same jobs under the same numbers.
func (v *View) SameJobs(o *View) bool { return v.jobs == o.jobs }

// SameRules reports that both views decide the same for all jobs, apart from pauses, runs
// and troubles.
func (v *View) SameRules(o *View) bool {
	return v.jobs == o.jobs && v.node == o.node && v.SameMembers(o.View) && v.draining == o.draining && maps.Equal(v.bars, o.bars) && maps.Equal(v.stamps, o.stamps)
}

// Options returns the effective options of job i: an entry that may not run is held in
// them.
func (v *View) Options(i int) *option.Options { return v.jobs.Options(i) }

// Marked lists the jobs that have a pause, a trouble or an acknowledgement, for any user.
// For all other jobs, Hold, Trouble and Ack return nothing.
func (v *View) Marked() []job.ID {
	ids := make([]job.ID, 0, len(v.holds)+len(v.troubles))
	for id := range v.holds {
		ids = append(ids, id)
	}
	for o := range v.troubles {
		ids = append(ids, o.job)
	}
	return ids
}

// EachRun calls f for each live run, in no particular order. The runs are immutable.
func (v *View) EachRun(f func(r *job.Run)) {
	for _, r := range v.live {
		f(r)
	}
}

// Runs returns all live runs, oldest first: running, about to start, queued, or waiting
// for a retry.
func (v *View) Runs() []job.Run {
	runs := make([]job.Run, len(v.live))
	for i, r := range v.live {
		runs[i] = *r
	}
	slices.SortFunc(runs, func(a, b job.Run) int { return int(a.ID - b.ID) })
	return runs
}

// Busy returns how many live runs this host has, except those in state waiting, which
// wait for a time or for another event.
func (v *View) Busy() (runs int) {
	for _, r := range v.live {
		if r.State != job.RunWaiting {
			runs++
		}
	}
	return runs
}

// Crontabs returns the loaded crontabs.
func (v *View) Crontabs() []*crontab.File { return v.jobs.Crontabs() }
