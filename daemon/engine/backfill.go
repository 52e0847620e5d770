package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// A backfill runs occurrences of the past, oldest first. They are decided one
// by one as there is room for their runs, so that a year of them is neither in
// the queue nor in memory: the cursor and the runs that it has passed are
// written in one step, and a daemon that comes after goes on where it stands.
//
// Its runs are of the past: they move no mark, leave nothing in the ledger,
// start no jobs that on= names, and are not late for catchup= and deadline=.
// Between them and the clock's runs of the same job the job's own overlap=
// rules: unless it is allow, the backfill waits while any run of the job lives,
// and the clock finds the backfill's run in its way as any other. What keeps
// the job from running (a pause, a guard) lets the backfill wait.

// Bounds on backfills: those that go on at once, and what each may name.
const (
	maxFills        = 64
	maxAccountFills = 16
	maxActive       = 10_000
	MaxBackfill     = 1_000_000 // occurrences of one
	fillStep        = 2_000     // occurrences that a step looks at
	fillPatience    = time.Minute
)

// The rules of overlap= that a backfill can have among its runs. By all others
// it would drop what it was asked to run, as all of it is due at once.
const (
	fillAllow    = "allow"     // as many at once as MaxActive says
	fillQueueAll = "queue-all" // one after the other
)

// fill is a backfill that goes on.
type fill struct {
	job.Backfill
	ran     map[int64]job.Verdict
	live    int // its runs that have not ended
	left    job.Record
	changed bool
}

// fills is the backfills that go on, oldest first.
type fills struct {
	going []*fill
	next  int64         // the number of the next one
	busy  bool          // a step has left some of the work
	look  time.Duration // time since boot at which one is to be asked again; 0: none
}

func restoreFills(s *State) fills {
	f := fills{next: max(s.NextBackfill, 1)}
	for _, b := range s.Backfills {
		f.going = append(f.going, &fill{Backfill: b, ran: s.Ran[b.ID]})
		f.next = max(f.next, b.ID+1)
	}
	slices.SortFunc(f.going, func(a, b *fill) int { return int(a.ID - b.ID) })
	return f
}

// by is the backfill of a number, or nil.
func (f *fills) by(id int64) *fill {
	i := slices.IndexFunc(f.going, func(x *fill) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return f.going[i]
}

// backfill begins one.
func (e *Engine) backfill(ev Backfill) {
	if e.draining {
		e.refuse(ev.Token, Draining, "the daemon is stopping and starts nothing")
		return
	}
	b, slot, refusal := fillOf(e.jobs, ev.Request, e.now.Wall)
	if refusal == nil {
		refusal = e.fills.admits(&b)
	}
	if refusal != nil {
		e.answer(ev.Token, nil, refusal)
		return
	}
	if mark := time.Unix(0, e.marks[slot]).UTC(); b.To.After(mark) {
		b.To = mark // what comes behind is still the clock's
	}
	b.ID, b.Asked, b.Cursor, b.State = e.fills.next, e.now.Wall, b.From.Add(-1), job.BackfillGoing
	b.Started, b.Skipped, b.Failed = 0, 0, 0
	e.fills.next++
	f := &fill{Backfill: b, ran: ev.Ran}
	e.fills.going = append(e.fills.going, f)
	e.recordFill(f, "by "+b.By)
	begun := b
	e.emit(Answer{Token: ev.Token, Backfill: &begun})
}

// fillOf makes a request whole, or says why it cannot be.
func fillOf(in *catalog.Catalog, b job.Backfill, now time.Time) (job.Backfill, int, *Refusal) {
	slot, ok := in.Find(b.Job)
	if !ok {
		return b, 0, &Refusal{NotFound, "no such job"}
	}
	entry, o := in.Entry(slot), in.Options(slot)
	b.User, b.From, b.To = entry.User(), b.From.UTC(), b.To.UTC()
	why := ""
	switch {
	case o.Period != nil:
		why = "it runs once in a period, whenever that is, so it misses no instant that could be made up"
	case entry.Schedule == crontab.Reboot || entry.Schedule == crontab.Never:
		why = "the clock never starts it, so there are no occurrences to go over"
	case !crontab.InRange(b.From):
		why = "the time begins before 1970"
	case b.To.Before(b.From):
		why = "the time ends before it begins"
	case b.To.After(now):
		why = "the time ends in the future; the clock will see to that"
	case b.MaxActive < 1 || b.MaxActive > maxActive:
		why = fmt.Sprintf("max-active is 1 to %d", maxActive)
	case b.Overlap != fillAllow && b.Overlap != fillQueueAll:
		why = fmt.Sprintf("overlap=%s is no rule for a backfill: all of it is due at once, so it would drop what it is asked to run; %s and %s are", b.Overlap, fillAllow, fillQueueAll)
	case b.Reprocess != job.ReprocessNone && b.Reprocess != job.ReprocessFailed && b.Reprocess != job.ReprocessAll:
		why = fmt.Sprintf("reprocess=%s is none of none, failed, all", b.Reprocess)
	}
	if why != "" {
		return b, slot, &Refusal{Conflict, why}
	}
	return b, slot, nil
}

// admits holds the bounds on how many go on at once.
func (f *fills) admits(b *job.Backfill) *Refusal {
	mine := 0
	for _, x := range f.going {
		if x.User == b.User {
			mine++
		}
	}
	switch {
	case mine >= maxAccountFills:
		return &Refusal{Conflict, fmt.Sprintf("%d backfills of jobs of %s are going on, and there may be no more", mine, b.User)}
	case len(f.going) >= maxFills:
		return &Refusal{Conflict, fmt.Sprintf("%d backfills are going on, and there may be no more", len(f.going))}
	}
	return nil
}

// stopBackfill ends one: its runs go on.
func (e *Engine) stopBackfill(ev StopBackfill) {
	f := e.fills.by(ev.ID)
	if f == nil {
		e.refuse(ev.Token, Conflict, fmt.Sprintf("backfill %d is not going on", ev.ID))
		return
	}
	e.endFill(f, job.BackfillStopped, "by "+ev.By)
	over := f.Backfill
	e.emit(Answer{Token: ev.Token, Backfill: &over})
}

func (e *Engine) endFill(f *fill, how job.BackfillState, detail string) {
	e.recordLeft(f)
	f.State = how
	e.recordFill(f, detail)
	e.fills.going = slices.DeleteFunc(e.fills.going, func(x *fill) bool { return x == f })
}

// recordFill says how far a backfill has come.
func (e *Engine) recordFill(f *fill, detail string) {
	f.changed = false
	now := f.Backfill
	e.record(job.Record{Kind: job.Filled, Job: f.Job, Era: e.era, Detail: detail, Backfill: &now})
}

// fill lets the backfills go on, as far as there is room. Those behind the one
// that a step came to last are first in the next one.
func (e *Engine) fill() {
	p := &e.fills
	p.busy, p.look = false, 0
	if len(p.going) == 0 || e.draining {
		return
	}
	looks, starts := fillStep, turnsPerStep
	for _, f := range slices.Clone(p.going) {
		e.advance(f, &looks, &starts)
		if looks <= 0 || starts <= 0 {
			p.busy = true
			p.turnTo(f)
			break
		}
	}
	for _, f := range slices.Clone(p.going) {
		if f.changed {
			e.recordFill(f, "")
		}
	}
}

// turnTo puts a backfill, and those before it, behind the others.
func (f *fills) turnTo(last *fill) {
	if i := slices.Index(f.going, last); i >= 0 {
		f.going = append(slices.Clone(f.going[i+1:]), f.going[:i+1]...)
	}
}

// advance decides the next occurrences of a backfill. looks and starts are what
// is left of the step.
func (e *Engine) advance(f *fill, looks, starts *int) {
	slot, why := e.fillSlot(f)
	if why != "" {
		e.endFill(f, job.BackfillStopped, why)
		return
	}
	if slot < 0 {
		return
	}
	schedule := e.jobs.Entry(slot).Schedule
	for *looks > 0 && *starts > 0 {
		due := nextAfter(schedule, f.Cursor).UTC()
		switch {
		case due.IsZero() || due.After(f.To):
			e.recordLeft(f)
			if f.live == 0 {
				e.endFill(f, job.BackfillDone, "")
			}
			return
		case f.Started+f.Skipped >= MaxBackfill:
			e.endFill(f, job.BackfillStopped, fmt.Sprintf("it has come to %d occurrences, and there may be no more", MaxBackfill))
			return
		case f.leavesOut(due):
			e.leaveOut(f, due)
			*looks--
			continue
		}
		e.recordLeft(f)
		j := e.firing(slot)
		if !e.hasRoomFor(f, j) {
			return
		}
		f.Cursor, f.changed = due, true
		f.Started++
		*starts--
		j.by, j.backfill = f.By, f.ID
		e.begin(j, due, job.TriggerBackfill, job.Backfilled)
	}
	e.recordLeft(f)
}

// fillSlot is the slot of a backfill's job, -1 if it may still come, or why the
// backfill cannot go on.
func (e *Engine) fillSlot(f *fill) (slot int, why string) {
	slot, ok := e.jobs.Find(f.Job)
	switch {
	case !ok && e.awaited != nil:
		return -1, ""
	case !ok || e.jobs.Entry(slot).User() != f.User:
		return 0, "the entry was removed from its table"
	}
	entry := e.jobs.Entry(slot)
	if entry.Schedule == crontab.Never || entry.Schedule == crontab.Reboot || entry.Options().Period != nil {
		return 0, "the clock names no occurrences of the entry any more"
	}
	return slot, ""
}

// leavesOut tells whether an occurrence is not run, as it ran before.
func (f *fill) leavesOut(due time.Time) bool {
	verdict, ran := f.ran[due.UnixNano()]
	switch {
	case !ran || f.Reprocess == job.ReprocessAll:
		return false
	case f.Reprocess == job.ReprocessFailed:
		return !verdict.Bad()
	}
	return true
}

// leaveOut adds an occurrence to the stretch that is left out alike.
func (e *Engine) leaveOut(f *fill, due time.Time) {
	f.Cursor, f.changed = due, true
	f.Skipped++
	if f.left.Count == 0 {
		f.left.First = due
	}
	f.left.Due = due
	f.left.Count++
}

// recordLeft records the stretch.
func (e *Engine) recordLeft(f *fill) {
	if f.left.Count == 0 {
		return
	}
	r, now := f.left, f.Backfill
	f.left = job.Record{}
	if r.Count == 1 {
		r.First, r.Count = time.Time{}, 0
	}
	r.Kind, r.Job, r.Era, r.Backfill = job.Decided, f.Job, e.era, &now
	r.Decision, r.Reason, r.Detail = job.DecideSkip, job.AlreadyProcessed, "--reprocess="+string(f.Reprocess)
	e.record(r)
}

// hasRoomFor tells whether a backfill may begin another run now, and not only
// to see it dropped. What time alone can change is asked again after a while.
func (e *Engine) hasRoomFor(f *fill, j *firing) bool {
	against, _ := e.standing(j)
	live := e.liveOf(j)
	if against != "" || e.places.waiting >= e.places.limits.Queue() || e.flooded(j, live) != "" {
		e.fills.look = e.in(fillPatience)
		return false
	}
	most := f.MaxActive
	if f.Overlap == fillQueueAll {
		most = 1
	}
	if f.live >= most {
		return false
	}
	return (len(live) == 0 || j.options.Overlap == crontab.OverlapAllow) && tooMany(j.options, live) == ""
}

// filled counts how an occurrence of a backfill ended.
func (e *Engine) filled(r *run) {
	f := e.fills.by(r.Backfill)
	if f != nil && (r.Verdict.Bad() || r.State == job.RunDropped && r.Verdict == "") {
		f.Failed++
		f.changed = true
	}
}

// countFill keeps count of the live runs of a backfill.
func (e *Engine) countFill(r *run, by int) {
	if r.Backfill == 0 {
		return
	}
	if f := e.fills.by(r.Backfill); f != nil {
		f.live += by
	}
}

// wake is when a backfill is to be asked again.
func (f *fills) wake() (at time.Duration, ok bool) { return f.look, f.look > 0 }

// FillPlan is what a backfill would do.
type FillPlan struct {
	Count   int         // occurrences of the time, beyond MaxBackfill not counted
	LeftOut int         // of them, those that --reprocess leaves out
	First   []time.Time // the first ones that would run
}

// PlanBackfill tells what a backfill would do now, with the first few of its
// occurrences, or why it would be refused.
func (v *View) PlanBackfill(request job.Backfill, ran map[int64]job.Verdict, few int) (FillPlan, error) {
	b, slot, refusal := fillOf(v.jobs, request, v.now.Wall)
	if refusal != nil {
		return FillPlan{}, refusal
	}
	f := &fill{Backfill: b, ran: ran}
	schedule := v.jobs.Entry(slot).Schedule
	var p FillPlan
	for at := nextAfter(schedule, b.From.Add(-1)); !at.IsZero() && !at.After(b.To); at = nextAfter(schedule, at) {
		if p.Count++; p.Count > MaxBackfill {
			return FillPlan{}, &Refusal{Conflict, fmt.Sprintf("there are more than %d occurrences in that time", MaxBackfill)}
		}
		switch {
		case f.leavesOut(at):
			p.LeftOut++
		case len(p.First) < few:
			p.First = append(p.First, at.UTC())
		}
	}
	return p, nil
}

// Backfills is those that go on, oldest first.
func (v *View) Backfills() []job.Backfill { return v.fills }

func (f *fills) list() []job.Backfill {
	if len(f.going) == 0 {
		return nil
	}
	all := make([]job.Backfill, len(f.going))
	for i, x := range f.going {
		all[i] = x.Backfill
	}
	slices.SortFunc(all, func(a, b job.Backfill) int { return int(a.ID - b.ID) })
	return all
}
