package analysis

import (
	"cmp"
	"container/heap"
	"context"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
)

// usualComing is the default number of coming runs.
const usualComing = 10

// skew limits the time by which a caller's clock may be behind, so that its current time is not rejected as past.
const skew = time.Minute

// Coming answers with the coming runs of several jobs in order of time.
func (s *Analyst) Coming(ctx context.Context, c *call.Call) error {
	q, err := comingQuery(c)
	if err != nil {
		return err
	}
	jobs, err := s.find.Requested(ctx, c, "next")
	if err != nil {
		return err
	}
	runs, err := s.comingOf(ctx, c, jobs, q)
	if err != nil {
		return err
	}
	return c.Answer(api.Coming{V: api.Version, Jobs: len(jobs), Runs: runs})
}

func comingQuery(c *call.Call) (q api.ComingQuery, err error) {
	if q.From, q.Until, err = c.Period("from", "until"); err != nil {
		return q, err
	}
	if q.Limit, err = c.Limit(usualComing, api.MaxComing); err != nil {
		return q, err
	}
	if q.From.IsZero() {
		q.From = c.Now
	}
	if q.From.Before(c.Now.Add(-skew)) {
		return q, &api.Error{
			Kind: api.Usage, What: "cannot list the coming runs from " + q.From.Format(time.RFC3339) + " on: that is in the past",
			Why: "past runs are in the history, and the schedule may have been different then", Fix: "cronring history",
		}
	}
	if !q.From.After(c.Now) {
		q.From = c.Now.Add(1) // what is due now is decided already
	}
	return q, nil
}

// comingOf merges the coming runs of jobs. A run may be at q.From itself.
func (s *Analyst) comingOf(ctx context.Context, c *call.Call, jobs []int, q api.ComingQuery) ([]api.ComingRun, error) {
	next := func(i int, after time.Time) (t time.Time, ok bool) {
		t = c.View.Next(i, after)
		return t, t.After(after) && (q.Until.IsZero() || t.Before(q.Until))
	}
	line := make(nextRuns, 0, len(jobs))
	for k, i := range jobs {
		if k%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t, ok := next(i, q.From.Add(-1)); ok {
			line = append(line, nextRun{t, i})
		}
	}
	heap.Init(&line)
	runs, where := []api.ComingRun{}, s.states.Whereabouts(c.View)
	for len(runs) < q.Limit && len(line) > 0 {
		first := line[0]
		runs = append(runs, api.ComingRun{At: first.at.UTC(), Job: c.View.ID(first.job), Node: where.Of(first.job, first.at)})
		if t, ok := next(first.job, first.at); ok {
			line[0].at = t
			heap.Fix(&line, 0)
		} else {
			heap.Pop(&line)
		}
	}
	return runs, ctx.Err()
}

// nextRun is the next run of one job.
type nextRun struct {
	at  time.Time
	job int
}

// nextRuns is a heap: the earliest run first, and runs at the same time in the order of the
// crontabs.
type nextRuns []nextRun

func (r nextRuns) Len() int { return len(r) }

func (r nextRuns) Swap(i, k int) { r[i], r[k] = r[k], r[i] }

func (r nextRuns) Less(i, k int) bool {
	return cmp.Or(r[i].at.Compare(r[k].at), cmp.Compare(r[i].job, r[k].job)) < 0
}

func (r *nextRuns) Push(x any) { *r = append(*r, x.(nextRun)) }

// Pop removes the last element, as package heap requires.
func (r *nextRuns) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}
