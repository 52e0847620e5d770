package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/prune"
)

// TestReadersSeeWholeSteps reads all that can be read while steps of five
// runs are written and old ones removed.
func TestReadersSeeWholeSteps(t *testing.T) {
	s := open(t, t.TempDir())
	const each = 5
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	ask := func(what string, f func() error) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := f(); err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	ask("Runs", func() error {
		runs, err := s.Runs(ctx, Filter{Since: noon, Limit: each})
		for _, r := range runs {
			if !r.Due.Equal(runs[0].Due) {
				t.Errorf("the newest %d runs are of two steps: %s and %s", each, runs[0].Due, r.Due)
			}
		}
		return err
	})
	ask("Restore", func() error { _, err := s.Restore(ctx); return err })
	ask("Recent", func() error { _, err := s.Recent(ctx, []job.ID{jobName(0), jobName(1)}, 3); return err })
	ask("Decisions", func() error { _, err := s.Decisions(ctx, jobName(0), noon, noon.Add(time.Hour), 10); return err })
	ask("Totals", func() error { _, err := s.Totals(ctx, noon); return err })
	ask("Prune", func() error { _, err := s.Prune(ctx, noon, prune.Policy{PerJob: 20}); return err })

	for step := range 100 {
		at := noon.Add(time.Duration(step) * time.Second)
		b := Batch{At: at}
		for n := range each {
			b.Records = append(b.Records, ended(job.RunID(step*each+n+1), jobName(n), at, 0))
		}
		commit(t, s, b)
	}
	stop()
	wg.Wait()
	pruned(t, s, prune.Policy{PerJob: 20})
	if got, want := count(t, s, "run"), each*20; got != want {
		t.Errorf("%d runs are left, want %d", got, want)
	}
}
