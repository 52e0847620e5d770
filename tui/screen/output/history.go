package output

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// newestOf returns the newest run of a job. A run that waits for a retry has no
// output yet: the failed attempt is shown instead.
func newestOf(ctx context.Context, d screen.Daemon, id job.ID) (job.Run, error) {
	run, err := d.OneRun(ctx, string(id)+"@last")
	if err != nil || run.WaitsOn() != job.WaitsOnRetry {
		return run, err
	}
	tried, err := runBefore(ctx, d, id, run.ID, func(r *job.Run) bool { return !r.Started.IsZero() })
	if err != nil {
		return run, nil
	}
	return tried, nil
}

// near requests the previous or next run of the job.
func (s *Output) near(a keys.Action) []screen.Effect {
	if !s.known {
		return nil
	}
	id, at := s.run.Job, s.run.ID
	return []screen.Effect{screen.Ask{Slot: slotNear, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		if a == keys.PreviousRun {
			r, err := runBefore(ctx, d, id, at, func(*job.Run) bool { return true })
			if errors.Is(err, errNoRun) {
				err = fmt.Errorf("run %s is the oldest of %s that is known", at, display.Text(string(id)))
			}
			return r, err
		}
		return runAfter(ctx, d, id, at)
	}}}
}

// Bounds of a look through the history of a job.
const (
	historyPage  = 500
	historyPages = 20
)

// runBefore is the newest run of a job before another that is wanted.
func runBefore(ctx context.Context, d screen.Daemon, id job.ID, before job.RunID, wanted func(*job.Run) bool) (job.Run, error) {
	for range historyPages {
		runs, err := d.History(ctx, api.Filter{Refs: []string{string(id)}, Before: before, Limit: historyPage})
		if err != nil {
			return job.Run{}, err
		}
		for i := range runs.Runs {
			if r := &runs.Runs[i]; r.ID < before && wanted(r) {
				return *r, nil
			}
		}
		if len(runs.Runs) < historyPage {
			break
		}
		before = runs.Runs[len(runs.Runs)-1].ID
	}
	return job.Run{}, errNoRun
}

var errNoRun = errors.New("no such run is known")

// runAfter is the oldest run of a job after another.
func runAfter(ctx context.Context, d screen.Daemon, id job.ID, after job.RunID) (job.Run, error) {
	var found job.Run
	before := job.RunID(0)
	for range historyPages {
		runs, err := d.History(ctx, api.Filter{Refs: []string{string(id)}, Before: before, Limit: historyPage})
		if err != nil {
			return job.Run{}, err
		}
		for _, r := range runs.Runs {
			if r.ID <= after {
				return orNone(found, id, after)
			}
			found, before = r, r.ID
		}
		if len(runs.Runs) < historyPage {
			break
		}
	}
	return orNone(found, id, after)
}

func orNone(r job.Run, id job.ID, after job.RunID) (job.Run, error) {
	if r.ID == 0 {
		return r, fmt.Errorf("run %s is the newest of %s", after, display.Text(string(id)))
	}
	return r, nil
}
