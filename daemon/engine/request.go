package engine

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/gate"
	"github.com/cronring/cronring/daemon/engine/live"
	"github.com/cronring/cronring/daemon/job"
)

func (e *Engine) runNow(ev event.RunNow) {
	slot, ok := e.requested(ev.Token, ev.Job)
	if !ok {
		return
	}
	o := e.occurrence(slot, e.now.Wall, job.TriggerManual, job.AskedFor)
	o.By, o.Forced, o.Env = ev.By, ev.Force, ev.Env
	r, refusal := e.admitRequest(&o)
	if refusal != nil {
		e.answer(ev.Token, nil, refusal)
		return
	}
	e.answer(ev.Token, []job.Run{r.Run}, nil)
}

// admitRequest makes the run that a person requests, or returns why it is refused.
func (e *Engine) admitRequest(o *gate.Occurrence) (*live.Run, *effect.Refusal) {
	if e.draining {
		return nil, &effect.Refusal{Kind: effect.Draining, Reason: "the daemon is stopping and starts nothing"}
	}
	d := e.judge(o)
	if d.Do == job.DecideSkip {
		if !d.Until.IsZero() {
			d.Detail += ", until " + d.Until.In(o.Zone()).Format(time.RFC3339)
		}
		forced := *o
		forced.Forced = true
		return nil, &effect.Refusal{Kind: effect.Conflict, Reason: d.Reason.With(d.Detail), Final: gate.Decide(e.host(), &forced).Do == job.DecideSkip}
	}
	r := e.admit(o, d)
	if r.State == job.RunDropped { // too many wait
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
		if ev.Run == 0 && known && !live.IsOf(r, e.jobs.Entry(slot).User()) {
			continue
		}
		if r.State == job.RunQueued || r.State == job.RunWaiting {
			r.Run.Stop = &job.Stop{By: ev.By, At: e.now.Wall}
			e.dropFor(r, job.StopAsked, r.Run.Stop.Words())
		} else {
			e.stopForPerson(r, ev)
		}
		stopped = append(stopped, r.Run)
	}
	if len(stopped) == 0 {
		e.refuse(ev.Token, effect.Conflict, "nothing of it is running, queued or waiting")
		return
	}
	e.answer(ev.Token, stopped, nil)
}

// requested returns the job of a request, or refuses the request if there is no such job.
func (e *Engine) requested(token effect.Token, id job.ID) (slot int, ok bool) {
	if slot, ok = e.jobs.Find(id); !ok {
		e.refuse(token, effect.NotFound, "no such job")
	}
	return slot, ok
}

func (e *Engine) pauseJob(ev event.Pause) {
	slot, ok := e.requested(ev.Token, ev.Job)
	if !ok {
		return
	}
	h := ev.Hold
	h.Since, h.User = e.now.Wall, e.jobs.Entry(slot).User()
	is, paused := e.holds.Of(ev.Job, h.User)
	switch now := paused && is.Covers(e.now.Wall); {
	case now && h.From.After(e.now.Wall):
		e.refuse(ev.Token, effect.Conflict, "it is paused now, and the later pause would end that")
		return
	case h.Skips && paused && !is.Skips && (now || is.From.After(e.now.Wall)):
		e.refuse(ev.Token, effect.Conflict, "it has a pause, and the skip would end that")
		return
	case h.Skips && h.Until.IsZero():
		e.refuse(ev.Token, effect.Conflict, "none of its occurrences is planned")
		return
	}
	e.setHold(ev.Job, h.User, &h)
	e.record(job.Record{Kind: job.Paused, Job: ev.Job, Detail: h.Reason, Hold: &h})
	e.answer(ev.Token, nil, nil)
}

func (e *Engine) resumeJob(ev event.Resume) {
	paused, mended, user := len(e.holds[ev.Job]) > 0, false, ""
	if slot, loaded := e.jobs.Find(ev.Job); loaded {
		j := e.job(slot)
		user = j.User()
		_, paused = e.holds.Of(j.ID, user)
		mended = e.closeBreaker(j)
	}
	if !paused && !mended {
		e.refuse(ev.Token, effect.Conflict, "it is not paused")
		return
	}
	if paused {
		e.setHold(ev.Job, user, nil)
		if slot, ok := e.jobs.Find(ev.Job); ok && e.jobs.Options(slot).PauseCounts {
			e.decideLater(slot)
		}
	}
	e.record(job.Record{Kind: job.Resumed, Job: ev.Job, User: user, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}

// acknowledge records that a person has seen a job's failures. The acknowledgement is
// stored in the job's ledger, together with its count of failures in a row.
func (e *Engine) acknowledge(ev event.Ack) {
	slot, ok := e.requested(ev.Token, ev.Job)
	if !ok {
		return
	}
	seen := ev.Seen
	seen.At = e.now.Wall
	l := e.ledger(ev.Job, e.jobs.Entry(slot).User())
	l.Ack = &seen
	e.setLedger(l)
	detail := fmt.Sprintf("run %d, by %s", seen.Run, seen.By)
	if seen.Reason != "" {
		detail += ": " + seen.Reason
	}
	e.record(job.Record{Kind: job.Acked, Job: ev.Job, Detail: detail})
	e.answer(ev.Token, nil, nil)
}

func (e *Engine) unacknowledge(ev event.Unack) {
	slot, ok := e.requested(ev.Token, ev.Job)
	if !ok {
		return
	}
	l := e.ledger(ev.Job, e.jobs.Entry(slot).User())
	if l.Ack == nil {
		e.refuse(ev.Token, effect.Conflict, "no failure of it is acknowledged")
		return
	}
	l.Ack = nil
	e.setLedger(l)
	e.record(job.Record{Kind: job.Unacked, Job: ev.Job, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}

// redrive runs the occurrence of a run again, usually of a dead letter. The new run has
// the same due time, invocation and parents. In all other respects it is a manual run.
func (e *Engine) redrive(ev event.Redrive) {
	dead := ev.Dead
	slot, ok := e.jobs.Find(dead.Job)
	if !ok || dead.User != "" && dead.User != e.jobs.Entry(slot).User() {
		e.refuse(ev.Token, effect.NotFound, "its job is no longer installed")
		return
	}
	for _, r := range live.OfUser(e.byJob[dead.Job], e.jobs.Entry(slot).User()) {
		if r.Invocation == dead.Invocation {
			e.refuse(ev.Token, effect.Conflict, fmt.Sprintf("run %d of the same occurrence is under way", r.ID))
			return
		}
	}
	o := e.occurrence(slot, dead.Due, job.TriggerManual, job.Redriven)
	o.By, o.Dead = ev.By, &dead
	r, refusal := e.admitRequest(&o)
	if refusal != nil { // the dead letter is kept
		e.answer(ev.Token, nil, refusal)
		return
	}
	e.record(job.Record{
		Kind: job.Redrove, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead,
		Detail: fmt.Sprintf("as run %d, by %s", r.ID, ev.By),
	})
	e.answer(ev.Token, []job.Run{r.Run}, nil)
}

// bury forgets a dead letter. Its job may be gone.
func (e *Engine) bury(ev event.Bury) {
	dead := ev.Dead
	e.record(job.Record{Kind: job.Buried, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}
