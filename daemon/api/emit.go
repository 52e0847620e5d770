package api

import (
	"context"

	"github.com/cronring/cronring/daemon/job"
)

// EmitRequest emits an event.
type EmitRequest struct {
	Event string   `json:"event"`
	User  string   `json:"user,omitempty"`            // whose event it is; "": the caller's. Only administrators can name another
	Env   []string `json:"env,omitempty" max:"16384"` // NAME=value; see job.EventEnv
}

// Emitted is the answer to EmitRequest.
type Emitted struct {
	V     int       `json:"v"`
	Event string    `json:"event"`
	User  string    `json:"user"`
	Runs  []job.Run `json:"runs"` // those it started that the caller may see
}

// Emit emits an event.
func (c *Client) Emit(ctx context.Context, r EmitRequest) (Emitted, error) {
	return post[Emitted](ctx, c, "emit an event", "/v1/emit", r)
}

// Emissions are the events that the caller has emitted; of an administrator, those of all users.
type Emissions struct {
	V      int            `json:"v"`
	Events []job.Emission `json:"events"` // the newest first
}

// Emissions returns the events that were emitted.
func (c *Client) Emissions(ctx context.Context) (Emissions, error) {
	return get[Emissions](ctx, c, "list events", "/v1/emit", nil)
}
