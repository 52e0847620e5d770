package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// BackfillRequest asks for occurrences of a job's past to be run.
type BackfillRequest struct {
	Ref       string        `json:"job"`
	From      string        `json:"from"` // an instant, or a local time or date in the entry's zone
	To        string        `json:"to"`   // likewise; a date and a minute are meant to their end
	Overlap   string        `json:"overlap,omitempty"`
	Reprocess job.Reprocess `json:"reprocess,omitempty"`
	MaxActive int           `json:"max_active,omitempty"`
	DryRun    bool          `json:"dry_run,omitempty"` // only tell
	Wait      bool          `json:"wait,omitempty"`    // answer when it is over
}

// BackfillStop asks for a backfill to begin no further run.
type BackfillStop struct {
	ID int64 `json:"id"`
}

// Backfill is a backfill, and when it was asked for what it would do.
type Backfill struct {
	V int `json:"v"`
	job.Backfill
	Plan *BackfillPlan `json:"plan,omitempty"`
}

// BackfillPlan is what a backfill would do.
type BackfillPlan struct {
	Count   int         `json:"count"`    // occurrences of the time
	LeftOut int         `json:"left_out"` // of them, those that Reprocess leaves out
	First   []time.Time `json:"first"`    // the first that would run; at most 1000
}

// Backfills is a list of backfills, newest first.
type Backfills struct {
	V         int            `json:"v"`
	Backfills []job.Backfill `json:"backfills"`
}

// Backfill begins a backfill, or tells with DryRun what it would do.
func (c *Client) Backfill(ctx context.Context, r BackfillRequest) (Backfill, error) {
	return post[Backfill](ctx, c, "backfill a job", "/v1/backfill", r)
}

// Backfills lists those of some jobs, or of all that the account sees.
func (c *Client) Backfills(ctx context.Context, refs []string) ([]job.Backfill, error) {
	all, err := get[Backfills](ctx, c, "list backfills", "/v1/backfills", url.Values{"job": refs})
	return all.Backfills, err
}

// StopBackfill ends one; its runs go on.
func (c *Client) StopBackfill(ctx context.Context, id int64) (Backfill, error) {
	return post[Backfill](ctx, c, "stop a backfill", "/v1/backfill/stop", BackfillStop{ID: id})
}
