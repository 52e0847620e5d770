package recorder

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// Replay adds to the history the facts that the previous daemon could not write. Otherwise its runs
// would be started again, and the ends that it saw would be unknown.
func (u *Unwritten) Replay(m *store.Restored, boot string) {
	m.BootID = boot // it is the same process
	if u.Roster != nil {
		if u.Roster.Whole {
			m.Known = nil
		}
		m.Known = append(m.Known, u.Roster.All()...) // the later one of a job counts
	}
	m.Summaries = append(m.Summaries, u.Summaries...) // the engine takes the last one
	live := map[job.RunID]job.Run{}
	for _, r := range m.Live {
		live[r.ID] = r
	}
	for i := range u.Records {
		r := &u.Records[i]
		m.Era = max(m.Era, r.Era)
		if r.At.After(m.LastSeen) {
			m.LastSeen = r.At
		}
		switch {
		case r.Kind == job.Paused || r.Kind == job.Resumed:
			replayHold(m, r)
		case r.DecidesOccurrence():
			m.Marks = append(m.Marks, job.Mark{Job: r.Job, Due: r.Due, Era: r.Era})
		case r.Kind == job.Filled && r.Backfill != nil:
			replayBackfill(m, r.Backfill)
		}
		if r.Run != nil {
			m.NextRun = max(m.NextRun, r.Run.ID+1)
			live[r.Run.ID] = *r.Run
		}
	}
	m.Live = slices.DeleteFunc(slices.Collect(maps.Values(live)), func(r job.Run) bool { return !r.State.Live() })
	slices.SortFunc(m.Live, func(a, b job.Run) int { return cmp.Compare(a.ID, b.ID) })
}

// ReplayRan completes the known occurrences of each backfill. It queries history for backfills
// without any.
func (u *Unwritten) ReplayRan(ctx context.Context, history *store.Store, m *store.Restored) (err error) {
	for _, b := range m.Backfills {
		if m.Ran[b.ID] == nil {
			if m.Ran[b.ID], err = history.Ran(ctx, b.Job, b.User, b.From, b.To); err != nil {
				return err
			}
		}
		for _, r := range u.Records {
			if r.Run != nil && r.Run.Job == b.Job && r.Run.User == b.User && !r.Run.Due.Before(b.From) && !r.Run.Due.After(b.To) {
				m.Ran[b.ID][r.Run.Due.UnixNano()] = r.Run.Verdict
			}
		}
	}
	return nil
}

func replayHold(m *store.Restored, r *job.Record) {
	if r.Hold == nil {
		m.Holds.Lift(r.Job, r.User)
		return
	}
	m.Holds.Put(r.Job, *r.Hold)
}

// replayBackfill replaces a backfill by its state after a record. The engine does not need a
// backfill that has ended.
func replayBackfill(m *store.Restored, b *job.Backfill) {
	m.NextBackfill = max(m.NextBackfill, b.ID+1)
	m.Backfills = slices.DeleteFunc(m.Backfills, func(old job.Backfill) bool { return old.ID == b.ID })
	if b.State == job.BackfillGoing {
		m.Backfills = append(m.Backfills, *b)
	}
	slices.SortFunc(m.Backfills, func(a, b job.Backfill) int { return cmp.Compare(a.ID, b.ID) })
}
