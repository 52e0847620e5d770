package api

import (
	"context"

	"github.com/cronring/cronring/daemon/job"
)

// AckRequest says that somebody has seen that jobs failed: until they fail
// again they do not count as failing.
type AckRequest struct {
	Refs   []string `json:"jobs,omitempty"`
	All    bool     `json:"all,omitempty"` // all that fail, instead of Refs
	Reason string   `json:"reason,omitempty"`
	Undo   bool     `json:"undo,omitempty"` // they count again
}

// Ack acknowledges failures, and gives the jobs that it took effect on.
func (c *Client) Ack(ctx context.Context, r AckRequest) ([]job.ID, error) {
	return postParts(r.Refs, func(part []string) ([]job.ID, error) {
		r.Refs = part
		changed, err := post[Changed](ctx, c, "acknowledge failures", "/v1/ack", r)
		return changed.Jobs, err
	})
}
