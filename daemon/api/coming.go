package api

import (
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// MaxComing is the maximum number of coming runs in one answer.
const MaxComing = 10_000

// ComingQuery selects coming runs.
type ComingQuery struct {
	Refs  []string  // job references; none: all jobs that the user sees
	From  time.Time // zero: now; it cannot be in the past
	Until time.Time // before that; zero: no end
	Limit int       // 0: 10; at most MaxComing
}

// Coming is the runs to come of one or more jobs, in order of time.
type Coming struct {
	V    int         `json:"v"`
	Jobs int         `json:"jobs"` // that were asked about
	Runs []ComingRun `json:"runs"`
}

// ComingRun is an occurrence that is planned to run.
type ComingRun struct {
	At  time.Time `json:"at"`
	Job job.ID    `json:"job"`

	Node string `json:"member,omitempty"` // of a ring job: the host whose it is, as the ring is now
}

// Coming returns the coming runs that q selects. Jobs that are disabled, held or paused without an
// end have none.
func (c *Client) Coming(ctx context.Context, q ComingQuery) (Coming, error) {
	v := url.Values{"job": q.Refs}
	setTime(v, "from", q.From)
	setTime(v, "until", q.Until)
	setNumber(v, "limit", int64(q.Limit))
	return get[Coming](ctx, c, "list the coming runs", "/v1/next", v)
}
