package member

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/gossip/holders"
)

// Limits of what a starting daemon announces to the ring: the occurrences that this host ran in the
// last day, newest first. If all members start at the same time, no other member has this
// information.
const (
	recallTime = 24 * time.Hour
	recallMost = 100_000
)

// recall announces what this host ran before its daemon started.
func (r *Member) recall(ctx context.Context, v *view.View, history *store.Store) {
	progress, err := recalled(ctx, v, history)
	if err != nil {
		r.log.Error("cannot announce what this host ran before to other members", "error", err)
	}
	if len(progress) > 0 {
		r.members.Take(progress...)
	}
}

// recalled returns the progress of occurrences that this host ran or skipped before its daemon started:
// first of the live runs, whose attempts it knows.
func recalled(ctx context.Context, v *view.View, history *store.Store) (progress []holders.Effect, err error) {
	var shared []job.ID
	keys := map[job.ID]job.Key{}
	owned := map[string][]job.ID{}
	for i, h := range v.Holdings() {
		shared = append(shared, v.ID(i))
		keys[v.ID(i)] = h.Key
		owned[h.Owner] = append(owned[h.Owner], v.ID(i))
	}
	if len(shared) == 0 {
		return nil, nil
	}
	now := v.Now().Wall
	left := map[exchange.Occurrence]bool{}
	add := func(run *job.Run) {
		o := exchange.OccurrenceOf(keys[run.Job], run.Due)
		if run.Reason == job.HandedOver { // its attempts before that are the others' to know of
			left[o] = true
		}
		if p, ok := progressOf(run); ok && !left[o] {
			p.Occurrence = o
			progress = append(progress, p)
		}
	}
	for _, run := range v.Runs() {
		if _, shared := keys[run.Job]; shared {
			add(&run)
		}
	}
	err = eachRecent(ctx, history, owned, now, recallMost, func(run *job.Run) {
		if !run.State.Live() {
			add(run)
		}
	})
	if err == nil {
		err = history.Skips(ctx, shared, now.Add(-recallTime), now.Add(time.Minute), 1, func(s job.Record) {
			if isForAll(s.Reason) {
				progress = append(progress, exchange.Progress{Occurrence: exchange.OccurrenceOf(keys[s.Job], s.Due), Phase: exchange.Over})
			}
		})
	}
	return progress, err
}

// isForAll reports whether no member runs an occurrence that this host skipped for a reason. For the other
// reasons, this host could not run or claim it: another member may have a run of it that still waits.
func isForAll(r job.Reason) bool {
	switch r {
	case job.NoUser, job.AccountRefused, job.IsDisabled, job.IsHeld, job.OutsideHours, job.NoQuorum:
		return false
	}
	return true
}

// eachRecent calls f for the newest runs of recallTime, limit at most. Each user has an equal share
// of the limit, and root also what the others leave, so no user's runs displace those of others.
func eachRecent(ctx context.Context, history *store.Store, owned map[string][]job.ID, now time.Time, limit int, f func(*job.Run)) error {
	owners := slices.Sorted(maps.Keys(owned))
	if i := slices.Index(owners, "root"); i >= 0 {
		owners = append(slices.Delete(owners, i, i+1), "root")
	}
	for i, owner := range owners {
		share := limit / (len(owners) - i)
		err := history.Between(ctx, owned[owner], now.Add(-recallTime), now.Add(time.Minute), share, func(run *job.Run) {
			limit--
			f(run)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// progressOf returns the progress of a run's occurrence. Manual runs do not belong to the ring, and
// occurrences of another member are reported by that member.
func progressOf(run *job.Run) (p exchange.Progress, ok bool) {
	switch run.Trigger {
	case job.TriggerClock, job.TriggerCatchup, job.TriggerRetry:
	default:
		return p, false
	}
	if run.By != "" || run.Backfill != 0 || run.Reason == job.OtherMember || run.Reason == job.HandedOver {
		return p, false
	}
	phase := exchange.Over
	switch {
	case run.State == job.RunQueued || run.State == job.RunWaiting:
		phase = exchange.Taken
	case run.State.Live(), run.Verdict == job.VerdictRetry: // the next attempt reports its own progress
		phase = exchange.Begun
	}
	return exchange.ProgressOf(run, phase), true
}
