package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// ActionQuery chooses entries of the audit log. Each field narrows the choice.
type ActionQuery struct {
	Refs   []string // job references
	What   string   // "pause" and so on
	Since  time.Time
	Until  time.Time
	Before int64 // older than this entry: for the next page
	Limit  int   // maximum number, the newest; 0 means 100
}

// Actions is a part of the audit log, newest first.
type Actions struct {
	V       int          `json:"v"`
	Actions []job.Action `json:"actions"`
}

// Actions returns the entries of the audit log that q selects and the caller may see.
func (c *Client) Actions(ctx context.Context, q ActionQuery) (Actions, error) {
	v := url.Values{"job": q.Refs}
	setText(v, "what", q.What)
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	setNumber(v, "before", q.Before)
	setNumber(v, "limit", int64(q.Limit))
	return get[Actions](ctx, c, "read the audit log", "/v1/actions", v)
}
