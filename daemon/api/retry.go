package api

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// RetryRequest requests that occurrences run again.
type RetryRequest struct {
	Refs  []string  `json:"refs"`           // ended runs; or jobs: the newest failed run of each
	Since time.Time `json:"since,omitzero"` // for jobs: skip those whose newest failed run is older
	Wait  bool      `json:"wait,omitempty"` // answer when the last attempt has ended
}

// Retry runs occurrences again, and returns the new runs.
func (c *Client) Retry(ctx context.Context, r RetryRequest) ([]job.Run, error) {
	return postParts(ctx, c, "run again", "/v1/retry", &r, &r.Refs, runsOf)
}
