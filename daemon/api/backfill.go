package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BackfillRequest requests runs of past occurrences of a job.
type BackfillRequest struct {
	Ref       string        `json:"job"`
	From      string        `json:"from"` // an instant, or a local time or date in the entry's zone
	To        string        `json:"to"`   // likewise; a date and a minute are meant to their end
	Overlap   string        `json:"overlap,omitempty"`
	Reprocess job.Reprocess `json:"reprocess,omitempty"`
	MaxActive int           `json:"max_active,omitempty"`
	DryRun    bool          `json:"dry_run,omitempty"` // only report the plan
	Wait      bool          `json:"wait,omitempty"`    // answer when it is over
}

// BackfillStop requests that a backfill begins no further run.
type BackfillStop struct {
	ID int64 `json:"id"`
}

// Backfill is a backfill and, in the answer to its request, its plan.
type Backfill struct {
	V int `json:"v"`
	job.Backfill
	Plan *BackfillPlan `json:"plan,omitempty"`
}

// BackfillPlan describes what a backfill would do.
type BackfillPlan struct {
	Count   int         `json:"count"`    // occurrences of the time
	LeftOut int         `json:"left_out"` // of them, those that Reprocess excludes
	First   []time.Time `json:"first"`    // the first that would run; at most 1000
}

// Backfills is a list of backfills, newest first.
type Backfills struct {
	V         int            `json:"v"`
	Backfills []job.Backfill `json:"backfills"`
}

// Backfill begins a backfill or, with DryRun, returns its plan.
func (c *Client) Backfill(ctx context.Context, r BackfillRequest) (Backfill, error) {
	return post[Backfill](ctx, c, "backfill a job", "/v1/backfill", r)
}

// Backfills lists the backfills of some jobs, or of all jobs that the user sees.
func (c *Client) Backfills(ctx context.Context, refs []string) ([]job.Backfill, error) {
	all, err := get[Backfills](ctx, c, "list backfills", "/v1/backfills", url.Values{"job": refs})
	return all.Backfills, err
}

// StopBackfill ends a backfill; its runs continue.
func (c *Client) StopBackfill(ctx context.Context, id int64) (Backfill, error) {
	return post[Backfill](ctx, c, "stop a backfill", "/v1/backfill/stop", BackfillStop{ID: id})
}
