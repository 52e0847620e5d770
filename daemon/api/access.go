package api

import (
	"context"
	"net/url"

	"github.com/cronring/cronring/daemon/job"
)

// Access lists the permissions of a user.
type Access struct {
	V        int        `json:"v"`
	User     string     `json:"user"`
	Role     string     `json:"role"` // "own", "view", "operate", "admin"
	Why      string     `json:"why"`
	Groups   []string   `json:"groups,omitempty"` // of a user with a role
	Sees     int        `json:"sees"`             // number of jobs
	Operates int        `json:"operates"`         // number of jobs
	Job      *JobAccess `json:"job,omitempty"`
}

// JobAccess lists the permissions of a user for one job.
type JobAccess struct {
	Job      job.ID `json:"job"`
	User     string `json:"user"` // that it runs as
	Sees     bool   `json:"sees"`
	Operates bool   `json:"operates"`
	Why      string `json:"why"`
}

// Access explains what a user may do, and with one job unless ref is "". "" is the caller.
func (c *Client) Access(ctx context.Context, user, ref string) (Access, error) {
	v := url.Values{}
	setText(v, "user", user)
	setText(v, "job", ref)
	return get[Access](ctx, c, "see the access", "/v1/access", v)
}
