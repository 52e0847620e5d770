// Package backfill owns the active backfills, which are requests to run occurrences of the past, with
// their limits and the occurrences that they skip because these ran before.
package backfill

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Limits of backfills: how many are active at the same time, and how many occurrences
// each can have.
const (
	maxFills        = 64
	maxAccountFills = 16
	maxActive       = 10_000
	MaxBackfill     = 1_000_000 // occurrences of one backfill
	Step            = 2_000     // occurrences that a step looks at
	Patience        = time.Minute
)

// The values of overlap= that apply among the runs of a backfill. All other values would
// drop runs that were requested, because all occurrences of a backfill are due at the
// same time.
const (
	allow    = "allow"     // up to MaxActive at the same time
	QueueAll = "queue-all" // one after the other
)

// Fill is an active backfill.
type Fill struct {
	job.Backfill
	Ran     map[int64]job.Verdict
	Live    int // its runs that have not ended
	Left    job.Record
	Changed bool
}

// Active holds the active backfills, oldest first.
type Active struct {
	Going []*Fill
	Next  int64         // the ID of the next backfill
	Busy  bool          // the last step left work for the next one
	Look  time.Duration // time since boot at which a backfill is checked again; 0: none
}

// Restore returns the active backfills of an earlier daemon. next is the ID of the
// next backfill, or 0, and ran contains the occurrences that ran, for each backfill by ID.
func Restore(active []job.Backfill, ran map[int64]map[int64]job.Verdict, next int64) Active {
	f := Active{Next: max(next, 1)}
	for _, b := range active {
		f.Going = append(f.Going, &Fill{Backfill: b, Ran: ran[b.ID]})
		f.Next = max(f.Next, b.ID+1)
	}
	slices.SortFunc(f.Going, func(a, b *Fill) int { return int(a.ID - b.ID) })
	return f
}

// Find returns the active backfill with an ID, or nil.
func (f *Active) Find(id int64) *Fill {
	i := slices.IndexFunc(f.Going, func(x *Fill) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return f.Going[i]
}

// Complete completes and validates a request.
func Complete(in *catalog.Catalog, b job.Backfill, now time.Time) (job.Backfill, int, *effect.Refusal) {
	slot, ok := in.Find(b.Job)
	if !ok {
		return b, 0, &effect.Refusal{Kind: effect.NotFound, Reason: job.RefuseNoJob}
	}
	entry, o := in.Entry(slot), in.Options(slot)
	b.User, b.From, b.To = entry.User(), b.From.UTC(), b.To.UTC()
	why := ""
	switch {
	case o.Period != nil:
		why = job.RefusePeriodic
	case timetable.IsTimeless(entry.Schedule):
		why = job.RefuseNoSchedule
	case !timetable.InRange(b.From):
		why = job.RefuseBefore1970
	case b.To.Before(b.From):
		why = job.RefuseEndBeforeStart
	case b.To.After(now):
		why = job.RefuseFuture
	case b.MaxActive < 1 || b.MaxActive > maxActive:
		why = job.RefuseMaxActive(maxActive)
	case b.Overlap != allow && b.Overlap != QueueAll:
		why = job.RefuseOverlap(b.Overlap, allow, QueueAll)
	case b.Reprocess != job.ReprocessNone && b.Reprocess != job.ReprocessFailed && b.Reprocess != job.ReprocessAll:
		why = job.RefuseReprocess(b.Reprocess)
	}
	if why != "" {
		return b, slot, &effect.Refusal{Kind: effect.Conflict, Reason: why}
	}
	return b, slot, nil
}

// Admits checks the limits on active backfills.
func (f *Active) Admits(b *job.Backfill) *effect.Refusal {
	mine := 0
	for _, x := range f.Going {
		if x.User == b.User {
			mine++
		}
	}
	switch {
	case mine >= maxAccountFills:
		return &effect.Refusal{Kind: effect.Conflict, Reason: job.RefuseUserBackfills(maxAccountFills, b.User)}
	case len(f.Going) >= maxFills:
		return &effect.Refusal{Kind: effect.Conflict, Reason: job.RefuseBackfills(maxFills)}
	}
	return nil
}

// MoveToEnd moves a backfill, and those before it, to the end of the list.
func (f *Active) MoveToEnd(last *Fill) {
	if i := slices.Index(f.Going, last); i >= 0 {
		f.Going = append(slices.Clone(f.Going[i+1:]), f.Going[:i+1]...)
	}
}

// LeavesOut reports whether an occurrence is skipped because it ran before.
func (f *Fill) LeavesOut(due time.Time) bool {
	verdict, ran := f.Ran[due.UnixNano()]
	switch {
	case !ran || f.Reprocess == job.ReprocessAll:
		return false
	case f.Reprocess == job.ReprocessFailed:
		return !verdict.Bad()
	}
	return true
}

// Wake returns when a backfill must be checked again.
func (f *Active) Wake() (at time.Duration, ok bool) { return f.Look, f.Look > 0 }

// List returns the active backfills, oldest first.
func (f *Active) List() []job.Backfill {
	if len(f.Going) == 0 {
		return nil
	}
	all := make([]job.Backfill, len(f.Going))
	for i, x := range f.Going {
		all[i] = x.Backfill
	}
	slices.SortFunc(all, func(a, b job.Backfill) int { return int(a.ID - b.ID) })
	return all
}

// Count adjusts the number of live runs of a backfill. id may be 0, or that of a backfill
// that is over.
func (f *Active) Count(id int64, by int) {
	if id == 0 {
		return
	}
	if x := f.Find(id); x != nil {
		x.Live += by
	}
}

// NoteFailure counts an occurrence that failed.
func (f *Active) NoteFailure(id int64) {
	if x := f.Find(id); x != nil {
		x.Failed++
		x.Changed = true
	}
}
