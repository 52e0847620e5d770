package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Environment describes what a run of a job would find if it started now.
type Environment struct {
	V      int             `json:"v"`
	Job    job.ID          `json:"job"`
	Due    time.Time       `json:"due"` // of the run that RunEnv is about: the next, else now
	User   string          `json:"user"`
	UID    uint32          `json:"uid"`
	GID    uint32          `json:"gid"`
	Groups []uint32        `json:"groups"`
	Argv   []string        `json:"argv"`
	Dir    string          `json:"dir"`
	InRoot bool            `json:"in_root,omitempty"` // it runs in / where Dir cannot be entered
	Umask  string          `json:"umask,omitempty"`   // in octal digits; "": that of the session
	Env    []string        `json:"env"`               // NAME=value, the same for each run
	RunEnv []string        `json:"run_env"`           // NAME=value, of one due at Due
	Limits []ResourceLimit `json:"limits,omitempty"`  // of others: the daemon's own
	Nice   *int            `json:"nice,omitempty"`
	Idle   bool            `json:"idle,omitempty"` // it runs when nothing else does
	// Sandbox is "basic" or "strict", and Readable and Writable are the only paths that the run can
	// read and change; "": all that its user can.
	Sandbox   string   `json:"sandbox,omitempty"`
	Readable  []string `json:"readable,omitempty"`
	Writable  []string `json:"writable,omitempty"`
	NoNetwork bool     `json:"no_network,omitempty"`

	Credentials []string  `json:"credentials,omitempty"` // each with its file, and who reads it
	Held        []Setting `json:"held,omitempty"`        // options that hold the run to something: memory=, timeout= ...
	Session     bool      `json:"session,omitempty"`     // PAM opens a session, and adds an environment and limits of its own
}

// ResourceLimit is a bound of setrlimit(2), in its units. A nil half keeps the
// daemon's own.
type ResourceLimit struct {
	Name string  `json:"name"` // as limits.conf calls it: nofile
	Soft *uint64 `json:"soft,omitempty"`
	Hard *uint64 `json:"hard,omitempty"`
}

// Environment returns what a run of the job that ref names would find.
func (c *Client) Environment(ctx context.Context, ref string) (Environment, error) {
	return get[Environment](ctx, c, "show the environment of a job", "/v1/env", url.Values{"job": {ref}})
}
