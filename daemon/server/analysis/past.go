package analysis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Limits of the answer.
const (
	usualCells = 12
	mostCells  = 200
	summedRuns = 100 // that a job's durations and lags are computed from
)

// Past answers with the newest occurrences of some jobs, and statistics of their last runs. It
// takes exact names, as on a board.
func (s *Analyst) Past(ctx context.Context, c *call.Call) error {
	n, err := c.Number("n")
	if err != nil {
		return err
	}
	if n == 0 {
		n = usualCells
	}
	names := c.Query["job"]
	if len(names) > api.MaxPast || n > mostCells {
		return call.BadRequest("too much of the past is requested", fmt.Sprintf("the maximum is %d cells of %d jobs", mostCells, api.MaxPast))
	}
	pasts := make([]*jobPast, 0, len(names))
	for k, name := range names {
		if i, ok := c.View.Find(job.ID(name)); ok && c.SeesJob(i) && !slices.Contains(names[:k], name) {
			pasts = append(pasts, &jobPast{c: c, i: i, options: c.View.Options(i), most: int(n)})
		}
	}
	if err := s.recallAll(ctx, c, pasts); err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	answer := api.Pasts{V: api.Version, Now: c.Now, Jobs: make([]api.JobPast, len(pasts))}
	for k, p := range pasts {
		answer.Jobs[k] = p.result()
	}
	return c.Answer(answer)
}

// recallAll reads the history of jobs.
func (s *Analyst) recallAll(ctx context.Context, c *call.Call, pasts []*jobPast) error {
	ids := make([]job.ID, len(pasts))
	byID := make(map[job.ID]*jobPast, len(pasts))
	most := 0
	for k, p := range pasts {
		ids[k] = c.View.ID(p.i)
		byID[ids[k]] = p
		most = max(most, p.most)
	}
	err := s.store.Newest(ctx, ids, max(most, summedRuns), func(r *job.Run) {
		if c.SeesRun(r) {
			byID[r.Job].take(r)
		}
	})
	if err != nil {
		return err
	}
	return s.find.EachSkip(ctx, c, ids, time.Time{}, farFuture, most, func(r job.Record) { byID[r.Job].takeSkip(r) })
}

var farFuture = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// jobPast collects the past of one job.
type jobPast struct {
	c       *call.Call
	i       int // in the view
	options *option.Options
	most    int        // cells
	cells   []api.Cell // of runs newest first, then of skips
	sum     sum
	again   int // attempts that failed and that another follows
}

func (p *jobPast) take(r *job.Run) {
	if r.State == job.RunEnded {
		p.sum.add(resultOf(r), p.options.Grace)
		if r.Verdict == job.VerdictRetry {
			p.again++
		}
	}
	if cell, ok := cellOf(r, p.c.Now, p.options.Grace); ok {
		p.cells = append(p.cells, cell)
	}
}

func (p *jobPast) takeSkip(r job.Record) {
	p.cells = append(p.cells, api.Cell{Kind: api.CellSkipped, Due: r.Due, Count: r.Count, Ending: display.Clause(r.Reason.Sentence())})
}

// result returns the answer: the newest cells, oldest first.
func (p *jobPast) result() api.JobPast {
	slices.SortStableFunc(p.cells, func(a, b api.Cell) int { return at(&b).Compare(at(&a)) })
	cells := append([]api.Cell{}, p.cells[:min(p.most, len(p.cells))]...)
	slices.Reverse(cells)
	q := p.sum.result("")
	return api.JobPast{
		Job: p.c.View.ID(p.i), Cells: cells, Runs: q.Runs + p.again, OK: q.OK, Failed: q.Failed + p.again, Late: p.sum.late,
		P50: q.P50, P95: q.P95, Max: q.Max, LagP99: q.LagP99,
	}
}
