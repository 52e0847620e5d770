// Package view owns the snapshot of the engine that other packages read, with the installed jobs,
// their live runs and problems, and when each job runs next.
package view

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/backfill"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// PlanBackfill returns what a backfill would do now, with the first few of its
// occurrences, or why it would be refused. The view can be older than now.
func (v *View) PlanBackfill(request job.Backfill, now time.Time, ran map[int64]job.Verdict, few int) (backfill.Plan, error) {
	return backfill.PlanOf(v.jobs, now, request, ran, few)
}

// Backfills returns the active backfills, oldest first.
func (v *View) Backfills() []job.Backfill { return v.fills }

// RingJobs returns the number of ring jobs.
func (v *View) RingJobs() int { return len(v.jobs.RingJobs()) }

// Holdings returns the ring jobs that this host may run, by their numbers.
func (v *View) Holdings() iter.Seq2[int, catalog.Holding] {
	return func(yield func(int, catalog.Holding) bool) {
		for slot, h := range v.jobs.EachHolding() {
			if _, barred := v.barred[v.jobs.Entry(slot).User()]; !barred && !yield(slot, h) {
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

// View is an immutable snapshot of the engine. It is cheap to hold, so readers never wait
// for decisions.
type View struct {
	now       job.Moment
	draining  bool
	node      string
	jobs      *catalog.Catalog
	holds     job.Holds
	barred    map[string]event.Barred
	stamps    map[string]timetable.Day
	busy      map[string]bool // periods that have a live run
	live      []*job.Run
	fills     []job.Backfill
	over      slots.Overflow
	problems  map[job.Owned]Problems
	planned   *agenda.Times
	ahead     []int64
	labels    map[string]string
	blackouts timetable.Blackouts
	exchange.View
}

// Parts are the parts of a View. None of them may change afterwards.
type Parts struct {
	Now       job.Moment
	Draining  bool
	Node      string            // the host name
	Labels    map[string]string // of the host
	Blackouts timetable.Blackouts
	Jobs      *catalog.Catalog
	Holds     job.Holds
	Barred    map[string]event.Barred // users for whom nothing may start
	Stamps    map[string]timetable.Day
	Busy      map[string]bool // periods that have a live run
	Live      []*job.Run
	Fills     []job.Backfill
	Overflow  slots.Overflow
	Problems  map[job.Owned]Problems
	Planned   *agenda.Times // of jobs with delay=: when the next occurrence is due, in time since boot
	Ahead     []int64       // by job: the newest decided occurrence, Unix nanoseconds; nil: none is to come
	Ring      exchange.View
}

// New returns a View.
func New(p Parts) *View {
	return &View{
		now: p.Now, draining: p.Draining, node: p.Node, labels: p.Labels, blackouts: p.Blackouts, jobs: p.Jobs, holds: p.Holds, barred: p.Barred, stamps: p.Stamps,
		busy: p.Busy, live: p.Live, fills: p.Fills, over: p.Overflow, problems: p.Problems, planned: p.Planned, ahead: p.Ahead, View: p.Ring,
	}
}

// Now returns the moment of the last Step.
func (v *View) Now() job.Moment { return v.now }

// Draining reports whether the daemon starts no further runs.
func (v *View) Draining() bool { return v.draining }

// Len returns the number of jobs. They are numbered from 0, in the order of the crontabs.
func (v *View) Len() int { return v.jobs.Len() }

// ID returns the ID of job i.
func (v *View) ID(i int) job.ID { return v.jobs.ID(i) }

// Job returns job i.
func (v *View) Job(i int) job.Job { return v.withBar(v.jobs.Job(i)) }

// Brief returns job i without the input of its command; see catalog.Catalog.Brief.
func (v *View) Brief(i int) job.Job { return v.withBar(v.jobs.Brief(i)) }

// withBar adds the reason why no job of its user may start, if the job is not held.
func (v *View) withBar(j job.Job) job.Job {
	if b, barred := v.barred[j.User]; barred && j.Held == "" {
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

// CountStartedBy returns how many jobs an event starts; see catalog.Catalog.
func (v *View) CountStartedBy(name, user string, admin bool) int {
	return len(v.jobs.StartedBy(name, user, admin))
}

// Find returns the number of a job.
func (v *View) Find(id job.ID) (i int, ok bool) {
	slot, ok := v.jobs.Find(id)
	return slot, ok
}

// Named returns the numbers of the jobs with that name, of all owners, in order.
func (v *View) Named(name string) []int { return v.jobs.Named(name) }

// BarredUser returns why nothing may start for the user of job i. ok is false if runs may
// start.
func (v *View) BarredUser(i int) (b event.Barred, ok bool) {
	if len(v.barred) == 0 { // finding the user requires parsing the entry
		return b, false
	}
	return v.Barred(v.Entry(i).User())
}

// Barred returns why nothing may start for a user. ok is false if runs may start.
func (v *View) Barred(user string) (b event.Barred, ok bool) {
	b, ok = v.barred[user]
	return b, ok
}

// SameJobs reports that both views have the same jobs under the same numbers.
func (v *View) SameJobs(o *View) bool { return v.jobs == o.jobs }

// SameRules reports that both views decide the same for all jobs, apart from pauses, runs
// and problems.
func (v *View) SameRules(o *View) bool {
	return v.jobs == o.jobs && v.node == o.node && v.SameMembers(o.View) && v.draining == o.draining && maps.Equal(v.barred, o.barred) && maps.Equal(v.stamps, o.stamps) && slices.Equal(v.ahead, o.ahead)
}

// Options returns the effective options of job i: an entry that may not run is held in
// them.
func (v *View) Options(i int) *option.Options { return v.jobs.Options(i) }

// EachRun calls f for each live run, in no particular order. The runs are immutable.
func (v *View) EachRun(f func(r *job.Run)) {
	for _, r := range v.live {
		f(r)
	}
}

// Run returns a live run. ok is false if there is no live run of that number.
func (v *View) Run(id job.RunID) (r job.Run, ok bool) {
	for _, r := range v.live { // a map for each view would take longer than most views live
		if r.ID == id {
			return *r, true
		}
	}
	return r, false
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

// Overflow returns the runs that were dropped because too many waited.
func (v *View) Overflow() slots.Overflow { return v.over }

// Prepare returns ev with the slow part of the load done, which depends only on what is
// installed in v. The Step that takes it is then short, unless another Load came between.
// Prepare can run concurrently with the engine.
func (v *View) Prepare(ev event.Load) event.Load {
	if v.now.Wall.IsZero() { // nothing has been decided yet, and nothing waits
		return ev
	}
	ev.Prepared = ev.Prepare(v.jobs, v.now.Wall)
	return ev
}
