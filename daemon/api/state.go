package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// StateEntry is one thing that a job keeps for itself from run to run.
type StateEntry struct {
	Key   string    `json:"key"`
	Size  int       `json:"size"`        // in bytes
	At    time.Time `json:"at,omitzero"` // when it was set, in lists
	Value []byte    `json:"value,omitempty"`
}

// State is the saved state of a job: one entry with its value, or all entries without values.
type State struct {
	V       int          `json:"v"`
	Job     job.ID       `json:"job"`
	Entries []StateEntry `json:"entries"`
}

// StateRequest sets or deletes one entry.
type StateRequest struct {
	Job    string `json:"job"` // a job reference
	Key    string `json:"key"`
	Value  []byte `json:"value,omitempty"`
	Delete bool   `json:"delete,omitempty"`
}

// State returns one entry of a job's saved state, or all of them if key is "".
func (c *Client) State(ctx context.Context, ref, key string) (State, error) {
	v := url.Values{"job": {ref}}
	setText(v, "key", key)
	return get[State](ctx, c, "read a job's state", "/v1/state", v)
}

// SetState changes one entry, and returns it.
func (c *Client) SetState(ctx context.Context, r StateRequest) (State, error) {
	return post[State](ctx, c, "keep a job's state", "/v1/state", r)
}
