package api

import (
	"context"

	"github.com/cronring/cronring/daemon/job"
)

// BeatRequest is a sign of life of a run, which only a process of that run can give.
type BeatRequest struct {
	Run job.RunID `json:"run"`
}

// Beaten is the answer to BeatRequest.
type Beaten struct {
	V   int       `json:"v"`
	Run job.RunID `json:"run"`
}

// Beat gives a sign of life of a run.
func (c *Client) Beat(ctx context.Context, r BeatRequest) error {
	_, err := post[Beaten](ctx, c, "give a sign of life", "/v1/beat", r)
	return err
}
