package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

func (e *Engine) answer(t Token, runs []job.Run, err *Refusal) {
	if t != 0 {
		e.emit(Answer{Token: t, Runs: runs, Err: err})
	}
}

func (e *Engine) refuse(t Token, kind RefusalKind, reason string) {
	e.answer(t, nil, &Refusal{kind, reason})
}

func (e *Engine) runNow(ev RunNow) {
	slot, ok := e.jobs.Find(ev.Job)
	if !ok {
		e.refuse(ev.Token, NotFound, "no such job")
		return
	}
	j := e.firing(slot)
	j.by, j.forced, j.env = ev.By, ev.Force, ev.Env
	if refusal := e.refusal(j); refusal != nil {
		e.answer(ev.Token, nil, refusal)
		return
	}
	var r *run
	if ev.Force {
		r = e.begin(j, e.now.Wall, job.TriggerManual, job.AskedFor)
	} else {
		r = e.admit(j, e.now.Wall, job.TriggerManual, job.AskedFor)
	}
	if r.State == job.RunDropped { // too many wait
		e.refuse(ev.Token, Conflict, r.Reason.Sentence())
		return
	}
	e.answer(ev.Token, []job.Run{r.Run}, nil)
}

// refusal returns why a manual run is refused, or nil.
func (e *Engine) refusal(j *firing) *Refusal {
	if e.draining {
		return &Refusal{Draining, "the daemon is stopping and starts nothing"}
	}
	if b, barred := e.bars[j.entry.User()]; barred { // not even by force: nothing can run as this user
		return &Refusal{Conflict, b.Reason.With(b.Detail)}
	}
	if reason := e.objection(j); reason != "" && !j.forced {
		return &Refusal{Conflict, reason}
	}
	return nil
}

// objection returns why a manual run must be forced, or "".
func (e *Engine) objection(j *firing) string {
	if reason, detail := e.standing(j); reason != "" {
		return reason.With(detail)
	}
	if p := j.options.Period; p != nil {
		if other := e.holder(p, nil); other != nil {
			return job.Overlapping.With(e.going(other))
		}
	}
	live := e.liveOf(j)
	if len(live) == 0 {
		return ""
	}
	if many := tooMany(j.options, live); many != "" {
		return job.TooMany.With(many)
	}
	if many := e.flooded(j, live); many != "" {
		return job.TooManyWait.With(many)
	}
	switch j.options.Overlap {
	case option.OverlapSkip:
		return job.Overlapping.With(e.going(live[0]))
	case option.OverlapQueue:
		if q := queued(live); q != nil {
			return job.QueueFull.With(fmt.Sprintf("run %d is queued", q.ID))
		}
	}
	return ""
}

func (e *Engine) stopRuns(ev Stop) {
	var stopped []job.Run
	slot, known := e.jobs.Find(ev.Job)
	for _, r := range e.sorted() {
		if ev.Run != 0 && r.ID != ev.Run || ev.Run == 0 && r.Job != ev.Job {
			continue
		}
		if ev.Run == 0 && known && !isOf(r, e.jobs.Entry(slot).User()) {
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
		e.refuse(ev.Token, Conflict, "nothing of it is running, queued or waiting")
		return
	}
	e.answer(ev.Token, stopped, nil)
}

// sorted returns the live runs, oldest first.
func (e *Engine) sorted() []*run {
	return slices.SortedFunc(maps.Values(e.live), func(a, b *run) int { return int(a.ID - b.ID) })
}

func (e *Engine) pause(ev Pause) {
	slot, ok := e.jobs.Find(ev.Job)
	if !ok {
		e.refuse(ev.Token, NotFound, "no such job")
		return
	}
	h := ev.Hold
	h.Since, h.User = e.now.Wall, e.jobs.Entry(slot).User()
	e.setHold(ev.Job, h.User, &h)
	e.record(job.Record{Kind: job.Paused, Job: ev.Job, Detail: h.Reason, Hold: &h})
	e.answer(ev.Token, nil, nil)
}

func (e *Engine) resume(ev Resume) {
	paused, mended, user := len(e.holds[ev.Job]) > 0, false, ""
	if slot, loaded := e.jobs.Find(ev.Job); loaded {
		j := e.firing(slot)
		user = j.entry.User()
		_, paused = e.holds.Of(j.id, user)
		mended = e.closeBreaker(j)
	}
	if !paused && !mended {
		e.refuse(ev.Token, Conflict, "it is not paused")
		return
	}
	if paused {
		e.setHold(ev.Job, user, nil)
	}
	e.record(job.Record{Kind: job.Resumed, Job: ev.Job, User: user, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}

// setHold changes a hold. Views share the map, so it is copied at the first change after
// each view: a user may pause any number of jobs at the same time.
func (e *Engine) setHold(id job.ID, user string, h *job.Hold) {
	if e.lent {
		e.holds, e.lent = maps.Clone(e.holds), false
	}
	if h == nil {
		e.holds.Lift(id, user)
		return
	}
	e.holds.Put(id, *h)
}
