package analysis

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
)

// Limits of the answer.
const (
	clashTime   = 24 * time.Hour
	mostClash   = 7 * 24 * time.Hour
	usualLimit  = 20
	mostClashes = 1000
	clashNames  = 20
)

// Clashes answers with the coming minutes in which jobs start together.
func (s *Analyst) Clashes(ctx context.Context, c *call.Call) error {
	q, err := clashQuery(c)
	if err != nil {
		return err
	}
	jobs, err := s.find.Requested(ctx, c, "report clashes")
	if err != nil {
		return err
	}
	l, err := newLoad(ctx, c.View, jobs, q.From, q.To)
	if err != nil {
		return err
	}
	answer := api.Clashes{V: api.Version, From: q.From, To: q.To, Zone: s.daemon.Health().Zone, Clashes: []api.Clash{}}
	full := l.atLeast(q.Least)
	answer.Minutes = len(full)
	for _, n := range l.counts {
		answer.Starts += n
	}
	for _, m := range full[:min(q.Limit, len(full))] {
		answer.Clashes = append(answer.Clashes, api.Clash{
			At: l.at(m), Starts: l.counts[m], Jobs: l.starting(c.View, m, clashNames), Quiet: l.quietNear(m),
		})
	}
	if q.Suggest != "" {
		answer.Suggest = l.suggest(q.Suggest, zoneOf(answer.Zone))
	}
	return c.Answer(answer)
}

func clashQuery(c *call.Call) (q api.ClashQuery, err error) {
	if q.From, q.To, err = c.Period("from", "to"); err != nil {
		return q, err
	}
	least, err := c.Number("least")
	if err != nil {
		return q, err
	}
	if q.Limit, err = c.Limit(usualLimit, mostClashes); err != nil {
		return q, err
	}
	q.Least, q.Suggest = max(2, int(least)), c.Query.Get("suggest")
	if q.From.IsZero() {
		q.From = c.Now
	}
	q.From = q.From.Truncate(time.Minute)
	if q.To.IsZero() {
		q.To = q.From.Add(clashTime)
	}
	q.To = q.To.Truncate(time.Minute)
	switch d := q.To.Sub(q.From); {
	case d <= 0, d > mostClash:
		return q, call.BadRequest("cannot find clashes in that time", fmt.Sprintf("it must be after its beginning, and not longer than %s", display.Length(mostClash)))
	case q.Suggest != "" && q.Suggest != "hourly" && q.Suggest != "daily":
		return q, call.BadRequest(fmt.Sprintf("no time can be suggested for %q", q.Suggest), "it is one of hourly, daily")
	}
	return q, nil
}
