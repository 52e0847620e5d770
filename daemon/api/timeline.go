package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// MaxCells is the maximum number of cells of a time line.
const MaxCells = 1000

// TimelineQuery selects past and planned runs.
type TimelineQuery struct {
	Refs  []string  // job references; none: only the load of all jobs that the account sees
	From  time.Time // zero: 12 hours ago
	To    time.Time // zero: in 12 hours
	Cells int       // 0: one for each half hour
}

// Timeline is past and planned runs on one axis, cut into cells of one length.
type Timeline struct {
	V     int           `json:"v"`
	Now   time.Time     `json:"now"`
	From  time.Time     `json:"from"`
	To    time.Time     `json:"to"`
	Cells int           `json:"cells"`
	Jobs  []TimelineJob `json:"jobs"`

	Load   []int     `json:"load"`              // per cell: runs that the user sees and that have begun, and planned starts of the jobs that it sees
	Peak   int       `json:"peak"`              // most starts in one minute to come, until To
	PeakAt time.Time `json:"peak_at,omitzero"`  // the first minute with Peak starts
	Quiet  time.Time `json:"quiet_at,omitzero"` // the minute with the fewest within half an hour of it
}

// TimelineJob is one job on the axis.
type TimelineJob struct {
	Job   job.ID         `json:"job"`
	State job.State      `json:"state"`
	Zone  string         `json:"zone"`
	Next  time.Time      `json:"next,omitzero"`
	Cells []TimelineCell `json:"cells"` // in order of time; empty ones are left out
}

// TimelineCell is one cell: the worst kind in it.
type TimelineCell struct {
	Cell  int       `json:"cell"` // counted from 0
	Kind  CellKind  `json:"kind"`
	Count int       `json:"count,omitempty"` // occurrences in it; 0 for a span
	Due   time.Time `json:"due,omitzero"`    // of the occurrence that Kind is about
	Run   job.RunID `json:"run,omitempty"`   // of it, if it has one
}

// ClashQuery selects minutes in which many jobs start.
type ClashQuery struct {
	Refs    []string // job references; none: all that the account sees
	From    time.Time
	To      time.Time // at most a week after From; zero: 24 hours after it
	Least   int       // starts in one minute that make a clash; 0: 2
	Limit   int       // maximum number of clashes, the largest; 0: 20
	Suggest string    // "hourly" or "daily": the quietest minute for a new job of that kind
}

// Clashes are the minutes in which jobs start together.
type Clashes struct {
	V       int       `json:"v"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Zone    string    `json:"zone"` // the host's
	Starts  int       `json:"starts"`
	Minutes int       `json:"minutes"` // with as many starts as make a clash, or more
	Clashes []Clash   `json:"clashes"` // largest first, then by time
	Suggest *Slot     `json:"suggest,omitempty"`
}

// Clash is a minute with several starts.
type Clash struct {
	At     time.Time `json:"at"`
	Starts int       `json:"starts"`
	Jobs   []job.ID  `json:"jobs"`              // some of the jobs that start, by name
	Quiet  time.Time `json:"quiet_at,omitzero"` // the minute with the fewest starts within half an hour
}

// Slot is a time for a new job.
type Slot struct {
	Schedule string `json:"schedule"` // five fields
	Starts   int    `json:"starts"`   // of other jobs in the fullest minute that it names
	Busiest  int    `json:"busiest"`  // what the worst choice of the same kind would have
}

// Timeline returns the past and the future of jobs on one axis.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	v := url.Values{"job": q.Refs}
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	setNumber(v, "cells", int64(q.Cells))
	return get[Timeline](ctx, c, "see the time line", "/v1/timeline", v)
}

// Clashes returns the coming minutes in which jobs start together.
func (c *Client) Clashes(ctx context.Context, q ClashQuery) (Clashes, error) {
	v := url.Values{"job": q.Refs}
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	setNumber(v, "least", int64(q.Least))
	setNumber(v, "limit", int64(q.Limit))
	setText(v, "suggest", q.Suggest)
	return get[Clashes](ctx, c, "find clashes", "/v1/clashes", v)
}
