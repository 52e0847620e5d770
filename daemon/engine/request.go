package engine

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/backfill"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

func (e *Engine) runNow(ev event.RunNow) {
	slot, ok := e.requested(ev.Job)
	if !ok {
		return
	}
	o := e.occurrence(slot, e.now.Wall, job.TriggerManual, job.AskedFor)
	o.By, o.Forced, o.Env = ev.By, ev.Force, ev.Env
	r, refusal := e.admitRequest(&o)
	if refusal != nil {
		e.answer(nil, refusal)
		return
	}
	e.answer([]job.Run{r.Run}, nil)
}

// admitRequest makes the run that a person requests, or returns why it is refused.
func (e *Engine) admitRequest(o *gate.Occurrence) (*live.Run, *effect.Refusal) {
	if e.draining {
		return nil, &effect.Refusal{Kind: effect.Draining, Reason: job.RefuseDraining}
	}
	d := e.judge(o)
	if d.Do == job.DecideSkip {
		if !d.Until.IsZero() {
			d.Detail = job.DetailRuleUntil(d.Detail, d.Until.In(o.Zone))
		}
		forced := *o
		forced.Forced = true
		return nil, &effect.Refusal{Kind: effect.Conflict, Reason: d.Reason.With(d.Detail), Final: gate.Decide(e.host(), &forced).Do == job.DecideSkip}
	}
	r := e.admit(o, d)
	if r.State == job.RunDropped { // too many runs wait
		return nil, &effect.Refusal{Kind: effect.Conflict, Reason: r.Reason.Sentence()}
	}
	return r, nil
}

func (e *Engine) stopRuns(ev event.Stop) {
	var stopped []job.Run
	slot, known := e.jobs.Find(ev.Job)
	for _, r := range live.Sorted(e.live) {
		if ev.Run != 0 && r.ID != ev.Run || ev.Run == 0 && r.Job != ev.Job {
			continue
		}
		if e.live[r.ID] != r { // the end of the run before dropped it
			continue
		}
		if ev.Run == 0 && known && !live.IsOf(r, e.jobs.Entry(slot).User()) {
			continue
		}
		if r.State == job.RunQueued || r.State == job.RunWaiting {
			r.Run.Stop = &job.Stop{By: job.Text(ev.By), At: e.now.Wall}
			e.dropFor(r, job.StopAsked, r.Run.Stop.Detail())
		} else {
			e.stopForPerson(r, ev)
		}
		stopped = append(stopped, r.Run)
	}
	if len(stopped) == 0 {
		e.refuse(effect.Conflict, job.RefuseNothingLive)
		return
	}
	e.answer(stopped, nil)
}

// requested returns the job of a request, or refuses the request if there is no such job.
func (e *Engine) requested(id job.ID) (slot int, ok bool) {
	if slot, ok = e.jobs.Find(id); !ok {
		e.refuse(effect.NotFound, job.RefuseNoJob)
	}
	return slot, ok
}

func (e *Engine) pauseJob(ev event.Pause) {
	slot, ok := e.requested(ev.Job)
	if !ok {
		return
	}
	h := ev.Hold
	h.Since, h.User = e.now.Wall, e.jobs.Entry(slot).User()
	is, paused := e.holds.Of(ev.Job, h.User)
	switch now := paused && is.Covers(e.now.Wall); {
	case now && h.From.After(e.now.Wall):
		e.refuse(effect.Conflict, job.RefuseLaterPause)
		return
	case h.Skips && paused && !is.Skips && (now || is.From.After(e.now.Wall)):
		e.refuse(effect.Conflict, job.RefuseSkipPaused)
		return
	case h.Skips && h.Until.IsZero():
		e.refuse(effect.Conflict, job.RefuseNonePlanned)
		return
	}
	e.setHold(ev.Job, h.User, &h)
	e.record(job.Record{Kind: job.Paused, Job: ev.Job, Detail: h.Reason, Hold: &h})
	e.answer(nil, nil)
}

func (e *Engine) resumeJob(ev event.Resume) {
	paused, mended, user := len(e.holds[ev.Job]) > 0, false, ""
	if slot, loaded := e.jobs.Find(ev.Job); loaded {
		j := e.job(slot)
		user = j.User
		_, paused = e.holds.Of(j.ID, user)
		mended = e.closeBreaker(j)
	}
	if !paused && !mended {
		e.refuse(effect.Conflict, job.RefuseNotPaused)
		return
	}
	if paused {
		e.setHold(ev.Job, user, nil)
	}
	e.record(job.Record{Kind: job.Resumed, Job: ev.Job, User: user, Detail: job.DetailByUser(ev.By)})
	e.answer(nil, nil)
}

// acknowledge records that a person has seen a job's failures. The acknowledgement is
// stored in the job's summary, together with its count of failures in a row.
func (e *Engine) acknowledge(ev event.Ack) {
	slot, ok := e.requested(ev.Job)
	if !ok {
		return
	}
	seen := ev.Seen
	seen.At = e.now.Wall
	l := e.summary(ev.Job, e.jobs.Entry(slot).User())
	l.Ack = &seen
	e.setSummary(l)
	e.record(job.Record{Kind: job.Acked, Job: ev.Job, Detail: seen.Detail()})
	e.answer(nil, nil)
}

func (e *Engine) unacknowledge(ev event.Unack) {
	slot, ok := e.requested(ev.Job)
	if !ok {
		return
	}
	l := e.summary(ev.Job, e.jobs.Entry(slot).User())
	if l.Ack == nil {
		e.refuse(effect.Conflict, job.RefuseNotAcked)
		return
	}
	l.Ack = nil
	e.setSummary(l)
	e.record(job.Record{Kind: job.Unacked, Job: ev.Job, Detail: job.DetailByUser(ev.By)})
	e.answer(nil, nil)
}

// redrive runs the occurrence of a run again, usually of a dead letter. The new run has
// the same due time, invocation and parents. In all other respects it is a manual run.
func (e *Engine) redrive(ev event.Redrive) {
	dead := ev.Dead
	slot, ok := e.jobs.Find(dead.Job)
	if !ok || dead.User != "" && dead.User != e.jobs.Entry(slot).User() {
		e.refuse(effect.NotFound, job.RefuseNotInstalled)
		return
	}
	for _, r := range live.OfUser(e.byJob[dead.Job], e.jobs.Entry(slot).User()) {
		if r.Invocation == dead.Invocation {
			e.refuse(effect.Conflict, job.RefuseUnderWay(r.ID))
			return
		}
	}
	o := e.occurrence(slot, dead.Due, job.TriggerManual, job.Redriven)
	o.By, o.Dead = ev.By, &dead
	r, refusal := e.admitRequest(&o)
	if refusal != nil { // the dead letter is kept
		e.answer(nil, refusal)
		return
	}
	e.record(job.Record{
		Kind: job.Redrove, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead,
		Detail: job.DetailAsRun(r.ID, ev.By),
	})
	e.answer([]job.Run{r.Run}, nil)
}

// bury discards a dead letter. Its job may no longer exist.
func (e *Engine) bury(ev event.Bury) {
	dead := ev.Dead
	e.record(job.Record{Kind: job.Buried, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead, Detail: job.DetailByUser(ev.By)})
	e.answer(nil, nil)
}

// A backfill runs occurrences of the past, oldest first. Each occurrence is decided only
// when there is room for its run, so a year of occurrences fills neither the queue nor
// memory. The cursor and the runs that it has passed are stored in one step, so the next
// daemon continues where this one stopped.
//
// The runs of a backfill move no mark, change nothing in the summary, start no jobs by
// on=, and are not late for catchup= and deadline=. The job's overlap= applies between
// these runs and scheduled runs of the same job. Unless it is allow, the backfill waits
// while any run of the job is live, and a run of the backfill counts as any other when a
// scheduled run comes due. While the job cannot run (a pause, a guard), the backfill
// waits.

// startBackfill starts a backfill.
func (e *Engine) startBackfill(ev event.Backfill) {
	if e.draining {
		e.refuse(effect.Draining, job.RefuseDraining)
		return
	}
	b, slot, refusal := backfill.Complete(e.jobs, ev.Request, e.now.Wall)
	if refusal == nil {
		refusal = e.fills.Admits(&b)
	}
	if refusal != nil {
		e.answer(nil, refusal)
		return
	}
	if mark := time.Unix(0, e.marks[slot]).UTC(); b.To.After(mark) {
		b.To = mark // later occurrences are not decided yet: the schedule runs them
	}
	b.ID, b.Asked, b.Cursor, b.State = e.fills.Next, e.now.Wall, b.From.Add(-1), job.BackfillGoing
	b.Started, b.Skipped, b.Failed = 0, 0, 0
	e.fills.Next++
	f := &backfill.Fill{Backfill: b, Ran: ev.Ran}
	e.fills.Going = append(e.fills.Going, f)
	e.recordFill(f, job.DetailByUser(b.By))
	begun := b
	e.emit(effect.Answer{Token: e.asked, Backfill: &begun})
}

// stopBackfill ends a backfill. Its runs continue.
func (e *Engine) stopBackfill(ev event.StopBackfill) {
	f := e.fills.Find(ev.ID)
	if f == nil {
		e.refuse(effect.Conflict, job.RefuseNoBackfill(ev.ID))
		return
	}
	e.endFill(f, job.BackfillStopped, job.DetailByUser(ev.By))
	over := f.Backfill
	e.emit(effect.Answer{Token: e.asked, Backfill: &over})
}

func (e *Engine) endFill(f *backfill.Fill, how job.BackfillState, detail job.Detail) {
	e.recordLeft(f)
	f.State = how
	e.recordFill(f, detail)
	e.fills.Going = slices.DeleteFunc(e.fills.Going, func(x *backfill.Fill) bool { return x == f })
}

// recordFill records the progress of a backfill.
func (e *Engine) recordFill(f *backfill.Fill, detail job.Detail) {
	f.Changed = false
	now := f.Backfill
	e.record(job.Record{Kind: job.Filled, Job: f.Job, Era: e.era, Detail: detail, Backfill: &now})
}

// fill continues the active backfills as far as there is room. If a step runs out of room
// during one backfill, the next step begins with the backfills after it.
func (e *Engine) fill() {
	p := &e.fills
	p.Busy, p.Look = false, 0
	if len(p.Going) == 0 || e.draining {
		return
	}
	looks, starts := backfill.Step, startsPerStep
	for _, f := range slices.Clone(p.Going) {
		e.advance(f, &looks, &starts)
		if looks <= 0 || starts <= 0 {
			p.Busy = true
			p.MoveToEnd(f)
			break
		}
	}
	for _, f := range slices.Clone(p.Going) {
		if f.Changed {
			e.recordFill(f, "")
		}
	}
}

// advance decides the next occurrences of a backfill. looks and starts are the remaining
// budget of the step.
func (e *Engine) advance(f *backfill.Fill, looks, starts *int) {
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
		due := agenda.Next(schedule, f.Cursor).UTC()
		switch {
		case due.IsZero() || due.After(f.To):
			e.recordLeft(f)
			if f.Live == 0 {
				e.endFill(f, job.BackfillDone, "")
			}
			return
		case f.Started+f.Skipped >= backfill.MaxBackfill:
			e.endFill(f, job.BackfillStopped, job.StopsAtLimit(backfill.MaxBackfill))
			return
		case f.LeavesOut(due):
			e.leaveOut(f, due)
			*looks--
			continue
		}
		e.recordLeft(f)
		o := e.occurrence(slot, due, job.TriggerBackfill, job.Backfilled)
		o.By, o.Backfill = f.By, f.ID
		d, hasRoom := e.roomFor(f, &o)
		if !hasRoom {
			return
		}
		f.Cursor, f.Changed = due, true
		f.Started++
		*starts--
		e.admit(&o, d)
	}
	e.recordLeft(f)
}

// fillSlot returns the slot of a backfill's job, or -1 if its crontab is still awaited.
// why is set if the backfill cannot continue.
func (e *Engine) fillSlot(f *backfill.Fill) (slot int, why job.Detail) {
	slot, ok := e.jobs.Find(f.Job)
	switch {
	case !ok && e.awaited != nil:
		return -1, ""
	case !ok || e.jobs.Entry(slot).User() != f.User:
		return 0, job.StopsWithoutEntry
	}
	entry := e.jobs.Entry(slot)
	if timetable.IsTimeless(entry.Schedule) || entry.Options().Period != nil {
		return 0, job.StopsNoSchedule
	}
	return slot, ""
}

// leaveOut adds an occurrence to the series of skipped occurrences that gets a single record.
func (e *Engine) leaveOut(f *backfill.Fill, due time.Time) {
	f.Cursor, f.Changed = due, true
	f.Skipped++
	if f.Left.Count == 0 {
		f.Left.First = due
	}
	f.Left.Due = due
	f.Left.Count++
}

// recordLeft records the series of skipped occurrences.
func (e *Engine) recordLeft(f *backfill.Fill) {
	if f.Left.Count == 0 {
		return
	}
	r, now := f.Left, f.Backfill
	f.Left = job.Record{}
	if r.Count == 1 {
		r.First, r.Count = time.Time{}, 0
	}
	r.Kind, r.Job, r.Era, r.Backfill = job.Decided, f.Job, e.era, &now
	r.Decision, r.Reason, r.Detail = job.DecideSkip, job.AlreadyProcessed, job.DetailReprocess(f.Reprocess)
	e.record(r)
}

// roomFor decides whether a backfill can begin its next run now without the run being dropped.
// If only time can change the answer, it schedules another check.
func (e *Engine) roomFor(f *backfill.Fill, o *gate.Occurrence) (d gate.Decision, hasRoom bool) {
	most := f.MaxActive
	if f.Overlap == backfill.QueueAll {
		most = 1
	}
	if f.Live >= most {
		return d, false
	}
	d = e.judge(o)
	if d.Do == job.DecideSkip || d.On == job.WaitsOnRun || e.slots.WaitingOf(f.User) >= e.slots.Limits.Queue() {
		e.fills.Look = e.now.In(backfill.Patience)
		return d, false
	}
	return d, true
}
