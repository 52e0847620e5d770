package engine

import (
	"fmt"

	"github.com/cronring/cronring/daemon/job"
)

// redrive runs the occurrence of a run again, usually of a dead letter. The new run has
// the same due time, invocation and parents. In all other respects it is a manual run.
func (e *Engine) redrive(ev Redrive) {
	dead := ev.Dead
	slot, ok := e.jobs.Find(dead.Job)
	if !ok || dead.User != "" && dead.User != e.jobs.Entry(slot).User() {
		e.refuse(ev.Token, NotFound, "its job is no longer installed")
		return
	}
	j := e.firing(slot)
	j.by, j.dead = ev.By, &dead
	if refusal := e.refusal(j); refusal != nil {
		e.answer(ev.Token, nil, refusal)
		return
	}
	for _, r := range e.liveOf(j) {
		if r.Invocation == dead.Invocation {
			e.refuse(ev.Token, Conflict, fmt.Sprintf("run %d of the same occurrence is under way", r.ID))
			return
		}
	}
	r := e.admit(j, dead.Due, job.TriggerManual, job.Redriven)
	if r.State == job.RunDropped { // too many wait: the dead letter is kept
		e.refuse(ev.Token, Conflict, r.Reason.Sentence())
		return
	}
	e.record(job.Record{
		Kind: job.Redrove, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead,
		Detail: fmt.Sprintf("as run %d, by %s", r.ID, ev.By),
	})
	e.answer(ev.Token, []job.Run{r.Run}, nil)
}

// bury forgets a dead letter. Its job may be gone.
func (e *Engine) bury(ev Bury) {
	dead := ev.Dead
	e.record(job.Record{Kind: job.Buried, Job: dead.Job, Due: dead.Due, Era: dead.Era, Run: &dead, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}
