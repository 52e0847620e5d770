package backfill

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Plan describes the effect of a backfill before it starts.
type Plan struct {
	Count   int         // occurrences in the range; counted up to MaxBackfill
	LeftOut int         // of them, skipped because of --reprocess
	First   []time.Time // the first occurrences that would run
}

// PlanOf returns what a backfill would do at now, with the first few of its
// occurrences, or why it would be refused.
func PlanOf(in *catalog.Catalog, now time.Time, request job.Backfill, ran map[int64]job.Verdict, few int) (Plan, error) {
	b, slot, refusal := Complete(in, request, now)
	if refusal != nil {
		return Plan{}, refusal
	}
	f := &Fill{Backfill: b, Ran: ran}
	schedule := in.Entry(slot).Schedule
	var p Plan
	for at := agenda.Next(schedule, b.From.Add(-1)); !at.IsZero() && !at.After(b.To); at = agenda.Next(schedule, at) {
		if p.Count++; p.Count > MaxBackfill {
			return Plan{}, &effect.Refusal{Kind: effect.Conflict, Reason: job.RefuseOccurrences(MaxBackfill)}
		}
		switch {
		case f.LeavesOut(at):
			p.LeftOut++
		case len(p.First) < few:
			p.First = append(p.First, at.UTC())
		}
	}
	return p, nil
}
