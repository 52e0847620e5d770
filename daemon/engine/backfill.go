package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

// A backfill runs occurrences of the past, oldest first. Each occurrence is decided only
// when there is room for its run, so a year of occurrences fills neither the queue nor
// memory. The cursor and the runs that it has passed are stored in one step, so the next
// daemon continues where this one stopped.
//
// The runs of a backfill move no mark, change nothing in the ledger, start no jobs by
// on=, and are not late for catchup= and deadline=. The job's overlap= applies between
// these runs and scheduled runs of the same job. Unless it is allow, the backfill waits
// while any run of the job is live, and a run of the backfill counts as any other when a
// scheduled run comes due. While the job cannot run (a pause, a guard), the backfill
// waits.

// Limits of backfills: how many are active at the same time, and how many occurrences
// each can have.
const (
	maxFills        = 64
	maxAccountFills = 16
	maxActive       = 10_000
	MaxBackfill     = 1_000_000 // occurrences of one backfill
	fillStep        = 2_000     // occurrences that a step looks at
	fillPatience    = time.Minute
)

// The values of overlap= that apply among the runs of a backfill. All other values would
// drop runs that were requested, because all occurrences of a backfill are due at the
// same time.
const (
	fillAllow    = "allow"     // up to MaxActive at the same time
	fillQueueAll = "queue-all" // one after the other
)

// fill is an active backfill.
type fill struct {
	job.Backfill
	ran     map[int64]job.Verdict
	live    int // its runs that have not ended
	left    job.Record
	changed bool
}

// fills holds the active backfills, oldest first.
type fills struct {
	going []*fill
	next  int64         // the ID of the next backfill
	busy  bool          // the last step left work for the next one
	look  time.Duration // time since boot at which a backfill is checked again; 0: none
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

// by returns the active backfill with an ID, or nil.
func (f *fills) by(id int64) *fill {
	i := slices.IndexFunc(f.going, func(x *fill) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return f.going[i]
}

// backfill starts a backfill.
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
		b.To = mark // later occurrences are not decided yet: the schedule runs them
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

// fillOf completes and validates a request.
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
	case entry.Schedule == timetable.Reboot || entry.Schedule == timetable.Never:
		why = "the clock never starts it, so there are no occurrences to go over"
	case !timetable.InRange(b.From):
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

// admits checks the limits on active backfills.
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

// stopBackfill ends a backfill. Its runs continue.
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

// recordFill records the progress of a backfill.
func (e *Engine) recordFill(f *fill, detail string) {
	f.changed = false
	now := f.Backfill
	e.record(job.Record{Kind: job.Filled, Job: f.Job, Era: e.era, Detail: detail, Backfill: &now})
}

// fill continues the active backfills as far as there is room. If a step runs out of room
// at one backfill, the next step begins with the backfills after it.
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

// turnTo moves a backfill, and those before it, to the end of the list.
func (f *fills) turnTo(last *fill) {
	if i := slices.Index(f.going, last); i >= 0 {
		f.going = append(slices.Clone(f.going[i+1:]), f.going[:i+1]...)
	}
}

// advance decides the next occurrences of a backfill. looks and starts are the remaining
// budget of the step.
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

// fillSlot returns the slot of a backfill's job, or -1 if its crontab is still awaited.
// why is set if the backfill cannot continue.
func (e *Engine) fillSlot(f *fill) (slot int, why string) {
	slot, ok := e.jobs.Find(f.Job)
	switch {
	case !ok && e.awaited != nil:
		return -1, ""
	case !ok || e.jobs.Entry(slot).User() != f.User:
		return 0, "the entry was removed from its crontab"
	}
	entry := e.jobs.Entry(slot)
	if entry.Schedule == timetable.Never || entry.Schedule == timetable.Reboot || entry.Options().Period != nil {
		return 0, "the clock names no occurrences of the entry any more"
	}
	return slot, ""
}

// leavesOut reports whether an occurrence is skipped because it ran before.
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

// leaveOut adds an occurrence to the stretch of skipped occurrences that is recorded as
// one.
func (e *Engine) leaveOut(f *fill, due time.Time) {
	f.Cursor, f.changed = due, true
	f.Skipped++
	if f.left.Count == 0 {
		f.left.First = due
	}
	f.left.Due = due
	f.left.Count++
}

// recordLeft records the stretch of skipped occurrences.
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

// hasRoomFor reports whether a backfill can begin another run now without the run being
// dropped. If only time can change the answer, it schedules another check.
func (e *Engine) hasRoomFor(f *fill, j *firing) bool {
	against, _ := e.standing(j)
	live := e.liveOf(j)
	if against != "" || e.places.waiting >= e.places.limits.Queue() || e.flooded(j, live) != "" {
		e.fills.look = e.now.In(fillPatience)
		return false
	}
	most := f.MaxActive
	if f.Overlap == fillQueueAll {
		most = 1
	}
	if f.live >= most {
		return false
	}
	return (len(live) == 0 || j.options.Overlap == option.OverlapAllow) && tooMany(j.options, live) == ""
}

// filled counts failed occurrences of a backfill.
func (e *Engine) filled(r *run) {
	f := e.fills.by(r.Backfill)
	if f != nil && (r.Verdict.Bad() || r.State == job.RunDropped && r.Verdict == "") {
		f.Failed++
		f.changed = true
	}
}

// countFill adjusts the number of live runs of a backfill.
func (e *Engine) countFill(r *run, by int) {
	if r.Backfill == 0 {
		return
	}
	if f := e.fills.by(r.Backfill); f != nil {
		f.live += by
	}
}

// wake returns when a backfill must be checked again.
func (f *fills) wake() (at time.Duration, ok bool) { return f.look, f.look > 0 }

// FillPlan describes the effect of a backfill before it starts.
type FillPlan struct {
	Count   int         // occurrences in the range; counted up to MaxBackfill
	LeftOut int         // of them, skipped because of --reprocess
	First   []time.Time // the first occurrences that would run
}

// PlanBackfill returns what a backfill would do now, with the first few of its
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

// Backfills returns the active backfills, oldest first.
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
