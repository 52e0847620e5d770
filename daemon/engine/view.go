package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// View is the engine's world at one moment. It is immutable and cheap to
// hold, so readers never wait for decisions.
type View struct {
	now      Moment
	draining bool
	node     string
	jobs     *catalog.Catalog
	holds    job.Holds
	bars     map[string]Barred
	stamps   map[string]crontab.Day
	busy     map[string]bool // periods of which a run lives
	live     []*job.Run
	fills    []job.Backfill
	over     Overflow
	troubles map[owned]Trouble
	labels   map[string]string
	seats    *seats // nil: nothing is known of a ring
	former   []*seats
	bids     []Bid
	drained  bool // this member takes nothing new
}

// View returns the world as of the last Step.
func (e *Engine) View() *View {
	v := &View{now: e.now, draining: e.draining, node: e.node, jobs: e.jobs, holds: e.holds, bars: e.bars, stamps: e.stamps, labels: e.labels, fills: e.fills.list(), over: e.places.over,
		troubles: e.troubles}
	e.shown, e.lent = true, true
	e.ring.show(v)
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

// Now is the moment of the last Step.
func (v *View) Now() Moment { return v.now }

// Draining reports whether nothing is started any more.
func (v *View) Draining() bool { return v.draining }

// Len is the number of jobs. They are numbered from 0, in table order.
func (v *View) Len() int { return v.jobs.Len() }

// ID names job i.
func (v *View) ID(i int) job.ID { return v.jobs.ID(i) }

// Job describes job i. It is held, too, while nothing may start as its account.
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

// Entry is the crontab entry of job i.
func (v *View) Entry(i int) *crontab.Entry { return v.jobs.Entry(i) }

// RingKey is what names job i among the members of a ring; not ok for a job that is
// no ring's.
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

// Next is the first occurrence of job i after an instant that is planned to
// run: the zero time when there is none, because it names none, is disabled
// or held or for other hosts, its account may not run jobs, or it is paused without an end. For an
// entry with a period it is the instant of the start, after delay and hours.
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

// waitsUntil is when a run of a period starts that waits for its delay and
// hours; the zero time where none does.
func (v *View) waitsUntil(id job.ID) time.Time {
	for _, r := range v.live {
		if r.Job == id && r.WaitsOn() == job.WaitsOnDelay {
			return r.NotBefore
		}
	}
	return time.Time{}
}

// Planned reports that occurrences of job i are to run, but for a pause.
func (v *View) Planned(i int) bool {
	o := v.jobs.Options(i)
	if !o.Enabled || o.Held != "" || !isHere(o, v.node) || misfit(o, v.labels) != "" && o.Scope != crontab.ScopeRing {
		return false
	}
	_, barred := v.BarOf(i)
	return !barred
}

// BarOf is why nothing may start as the account of job i, if that is so.
func (v *View) BarOf(i int) (b Barred, ok bool) {
	if len(v.bars) == 0 { // to find the account is to read the line
		return b, false
	}
	return v.Barred(v.Entry(i).User())
}

// Hold is the pause of job i, or nil. An open breaker is one.
func (v *View) Hold(i int) *job.Hold {
	if len(v.holds) == 0 {
		return v.brokenHold(i)
	}
	h, ok := v.holds.Of(v.ID(i), v.Entry(i).User())
	if !ok || !h.Until.IsZero() && !v.now.Wall.Before(h.Until) {
		return v.brokenHold(i)
	}
	h.User = "" // who asks knows the job
	return &h
}

// Ack is what a person has seen of the failures of job i, or nil.
func (v *View) Ack(i int) *job.Ack {
	if len(v.troubles) == 0 {
		return nil
	}
	return v.troubles[owned{v.ID(i), v.Entry(i).User()}].Ack
}

// Barred is why nothing may start as an account, if that is so.
func (v *View) Barred(user string) (b Barred, ok bool) {
	b, ok = v.bars[user]
	return b, ok
}

// Stamp is the day on which the job of a period last ran, if that is known.
func (v *View) Stamp(id string) (day crontab.Day, ok bool) {
	day, ok = v.stamps[id]
	return day, ok
}

// Live is the live runs of job i, oldest first. It looks through all live
// runs: to ask for many jobs, sort Runs by job once.
func (v *View) Live(i int) []job.Run {
	id, user := v.ID(i), v.Entry(i).User()
	return slices.DeleteFunc(v.Runs(), func(r job.Run) bool { return r.Job != id || r.User != "" && r.User != user })
}

// SameJobs reports that both views have the same jobs under the same numbers.
func (v *View) SameJobs(o *View) bool { return v.jobs == o.jobs }

// SameRules reports that, but for pauses, runs and troubles, the same is to be
// said of all jobs in both views.
func (v *View) SameRules(o *View) bool {
	return v.jobs == o.jobs && v.node == o.node && v.seats == o.seats && v.draining == o.draining && maps.Equal(v.bars, o.bars) && maps.Equal(v.stamps, o.stamps)
}

// Options is the options of job i as they count: an entry that may not run is
// held by them.
func (v *View) Options(i int) *crontab.Options { return v.jobs.Options(i) }

// Marked lists the jobs that a pause, a trouble or an acknowledgement is known of,
// of whatever account: of all others Hold, Trouble and Ack have nothing to say.
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

// EachRun calls f for each live run, in no order. What it points to never
// changes.
func (v *View) EachRun(f func(r *job.Run)) {
	for _, r := range v.live {
		f(r)
	}
}

// Runs is all live runs, oldest first: running, about to start, queued,
// waiting for a retry.
func (v *View) Runs() []job.Run {
	runs := make([]job.Run, len(v.live))
	for i, r := range v.live {
		runs[i] = *r
	}
	slices.SortFunc(runs, func(a, b job.Run) int { return int(a.ID - b.ID) })
	return runs
}

// Busy is how many runs this host is at work with: not those that wait for a time, or
// for something else to happen.
func (v *View) Busy() (runs int) {
	for _, r := range v.live {
		if r.State != job.RunWaiting {
			runs++
		}
	}
	return runs
}

// Tables is the loaded crontab files.
func (v *View) Tables() []*crontab.Table { return v.jobs.Tables() }
