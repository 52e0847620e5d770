package engine

import (
	"fmt"

	"github.com/cronring/cronring/daemon/job"
)

// acknowledge records that a person has seen a job's failures. The acknowledgement is
// stored in the job's ledger, together with its count of failures in a row.
func (e *Engine) acknowledge(ev Ack) {
	slot, ok := e.jobs.Find(ev.Job)
	if !ok {
		e.refuse(ev.Token, NotFound, "no such job")
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

func (e *Engine) unacknowledge(ev Unack) {
	slot, ok := e.jobs.Find(ev.Job)
	if !ok {
		e.refuse(ev.Token, NotFound, "no such job")
		return
	}
	l := e.ledger(ev.Job, e.jobs.Entry(slot).User())
	if l.Ack == nil {
		e.refuse(ev.Token, Conflict, "no failure of it is acknowledged")
		return
	}
	l.Ack = nil
	e.setLedger(l)
	e.record(job.Record{Kind: job.Unacked, Job: ev.Job, Detail: "by " + ev.By})
	e.answer(ev.Token, nil, nil)
}
