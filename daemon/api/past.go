package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// MaxPast is the maximum number of jobs in one query of the past.
const MaxPast = 200

// CellKind is the closed list of what an occurrence or a part of a time line
// shows.
type CellKind string

// The kinds. Each hides the kinds after it in the same cell.
const (
	CellFailed   CellKind = "failed"
	CellLate     CellKind = "late" // due, its grace over, and not started
	CellRunning  CellKind = "running"
	CellOK       CellKind = "ok"
	CellStarted  CellKind = "started" // another cron started it: how it ended is not known
	CellSkipped  CellKind = "skipped"
	CellSpan     CellKind = "span" // a run that began in an earlier cell and continued
	CellPlanned  CellKind = "planned"
	CellExpected CellKind = "expected" // a planned or live run will still be running then, judged by earlier runs
	CellPaused   CellKind = "paused"   // the schedule names an occurrence that a pause will skip
)

// Cell is one occurrence of a job's past.
type Cell struct {
	Kind   CellKind      `json:"kind"`
	Due    time.Time     `json:"due"`
	Began  time.Time     `json:"began,omitzero"` // start of the run
	Took   time.Duration `json:"took,omitempty"` // of a run that ended
	Run    job.RunID     `json:"run,omitempty"`
	Ending string        `json:"ending,omitempty"` // how it failed, or why it was skipped
	Count  int           `json:"count,omitempty"`  // occurrences skipped alike that the cell stands for; 0 means one
}

// JobPast holds the newest runs and skips of a job, and statistics of its last 100 runs. Each
// attempt is a run: a failed attempt is shown and counted even if another follows it.
type JobPast struct {
	Job    job.ID        `json:"job"`
	Cells  []Cell        `json:"cells"`      // oldest first
	Runs   int           `json:"runs"`       // ended ones that the rest is about
	OK     int           `json:"ok"`         // of Runs
	Failed int           `json:"failed"`     // of Runs
	Late   int           `json:"late"`       // of Runs: started later than their grace allows
	P50    time.Duration `json:"p50_ns"`     // from start to end
	P95    time.Duration `json:"p95_ns"`     // likewise
	Max    time.Duration `json:"max_ns"`     // likewise
	LagP99 time.Duration `json:"lag_p99_ns"` // from due time to start, of runs that the clock started in time
}

// Pasts is the past of several jobs, in the order of the question.
type Pasts struct {
	V    int       `json:"v"`
	Now  time.Time `json:"now"`
	Jobs []JobPast `json:"jobs"`
}

// Past returns the last n occurrences of up to MaxPast jobs. Jobs that no longer exist are left
// out.
func (c *Client) Past(ctx context.Context, jobs []job.ID, n int) ([]JobPast, error) {
	v := url.Values{}
	for _, id := range jobs {
		v.Add("job", string(id))
	}
	setNumber(v, "n", int64(n))
	past, err := get[Pasts](ctx, c, "read the past", "/v1/past", v)
	return past.Jobs, err
}
