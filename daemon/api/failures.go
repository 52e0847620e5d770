package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// FailureParts is the number of equal parts of the time of Failures.
const FailureParts = 96

// Failures answers "GET /v1/failures": the failed runs of a period, counted.
type Failures struct {
	V      int            `json:"v"`
	Since  time.Time      `json:"since"`
	Until  time.Time      `json:"until"`
	Count  int            `json:"count"`            // of runs, also of older groups that are left out
	Older  bool           `json:"older,omitempty"`  // there are so many that older ones were not counted
	Groups []FailureGroup `json:"groups,omitempty"` // the newest first, at most about 1,000
}

// FailureGroup is runs of one job and user that failed in the same way.
type FailureGroup struct {
	Job    job.ID            `json:"job"`
	User   string            `json:"user"`
	Ending string            `json:"ending"` // "exit 1"
	Count  int               `json:"count"`
	First  time.Time         `json:"first"` // end of the oldest
	Last   time.Time         `json:"last"`  // end of the newest
	Run    job.RunID         `json:"run"`   // the newest
	Parts  [FailureParts]int `json:"parts"` // how many ended in each part of the period
}

// Failures returns the failed runs since a time, counted.
func (c *Client) Failures(ctx context.Context, since time.Time) (Failures, error) {
	v := url.Values{}
	setTime(v, "since", since)
	return get[Failures](ctx, c, "count failures", "/v1/failures", v)
}
