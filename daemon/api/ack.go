package api

import (
	"context"

	"github.com/cronring/cronring/daemon/job"
)

// AckRequest acknowledges the failures of jobs: they do not count as failing until they fail again.
type AckRequest struct {
	Refs   []string `json:"jobs,omitempty"`
	All    bool     `json:"all,omitempty"` // all that fail, instead of Refs
	Reason string   `json:"reason,omitempty"`
	Undo   bool     `json:"undo,omitempty"` // they count again
}

// Ack acknowledges failures, and returns the jobs that changed.
func (c *Client) Ack(ctx context.Context, r AckRequest) ([]job.ID, error) {
	return postParts(ctx, c, "acknowledge failures", "/v1/ack", &r, &r.Refs, jobsOf)
}
