package api

import (
	"context"
	"net/url"
	"time"
)

// StatsQuery selects statistics of runs.
type StatsQuery struct {
	Refs  []string  // job references; none: all that the account sees
	Since time.Time // zero: 30 days ago
	Until time.Time // zero: now
	By    string    // "job" (also ""), "user", "hour" (of the day), "day" (both in the host's zone) or "member"
}

// Stats are statistics of runs, in groups.
type Stats struct {
	V      int          `json:"v"`
	Since  time.Time    `json:"since"` // later than in the query if there are more runs or skips than are counted
	Until  time.Time    `json:"until"`
	By     string       `json:"by"`
	Zone   string       `json:"zone"` // the zone of hours and days
	Groups []StatsGroup `json:"groups"`
	All    StatsGroup   `json:"all"`
}

// StatsGroup holds the statistics of the runs of one job, user, hour, day or member.
type StatsGroup struct {
	Name    string        `json:"name"`
	Runs    int           `json:"runs"` // ended ones
	OK      int           `json:"ok"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"` // occurrences that were not run
	P50     time.Duration `json:"p50_ns"`  // from start to end
	P95     time.Duration `json:"p95_ns"`
	Max     time.Duration `json:"max_ns"`
	LagP99  time.Duration `json:"lag_p99_ns"` // from due time to start, of runs that the clock started in time
	Time    time.Duration `json:"time_ns"`    // of all runs together
	CPU     time.Duration `json:"cpu_ns"`     // of those where it is known
	Waste   time.Duration `json:"waste_ns"`   // of Time, what runs that failed took
	Memory  int64         `json:"memory"`     // the largest peak, bytes; 0: not known
}

// Stats returns statistics of runs.
func (c *Client) Stats(ctx context.Context, q StatsQuery) (Stats, error) {
	v := url.Values{"job": q.Refs}
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	setText(v, "by", q.By)
	return get[Stats](ctx, c, "read statistics", "/v1/stats", v)
}
