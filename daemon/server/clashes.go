package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// clashes answers with the coming minutes in which jobs start together.
func (s *Server) clashes(ctx context.Context, c *call.Call) error {
	q, err := clashQuery(c)
	if err != nil {
		return err
	}
	jobs := c.Visible()
	if refs := c.Query["job"]; len(refs) > 0 {
		if jobs, err = s.find.Resolve(ctx, c, "clashes", refs); err != nil {
			return err
		}
	}
	l, err := newLoad(ctx, c.View, jobs, q.From, q.To)
	if err != nil {
		return err
	}
	answer := api.Clashes{V: api.Version, From: q.From, To: q.To, Zone: s.backend.Health().Zone, Clashes: []api.Clash{}}
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
	limit, err := c.Number("limit")
	if err != nil {
		return q, err
	}
	q.Least, q.Limit, q.Suggest = max(2, int(least)), usualLimit, c.Query.Get("suggest")
	if limit > 0 {
		q.Limit = int(min(limit, mostClashes))
	}
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

// atLeast returns the minutes with n starts or more, the fullest first.
func (l *load) atLeast(n int) []int {
	var full []int
	for m, count := range l.counts {
		if count >= n {
			full = append(full, m)
		}
	}
	slices.SortStableFunc(full, func(a, b int) int { return cmp.Compare(l.counts[b], l.counts[a]) })
	return full
}

// suggest is the time for a new job that is due each hour or each day: the
// minute whose fullest occurrence has the fewest starts, with the calmest
// neighbours.
func (l *load) suggest(kind string, zone *time.Location) *api.Slot {
	names := 60
	if kind == "daily" {
		names = 24 * 60
	}
	fullest, around := make([]int, names), make([]int, names)
	for m, count := range l.counts {
		wall := l.at(m).In(zone)
		name := (wall.Hour()*60 + wall.Minute()) % names
		fullest[name] = max(fullest[name], count)
	}
	const reach = 5
	for name := range around {
		for d := -reach; d <= reach; d++ {
			around[name] += fullest[(name+d+names)%names] * (reach + 1 - max(d, -d))
		}
	}
	best, worst := 0, 0
	for name := range fullest {
		if cmp.Or(cmp.Compare(fullest[name], fullest[best]), cmp.Compare(around[name], around[best])) < 0 {
			best = name
		}
		worst = max(worst, fullest[name])
	}
	slot := &api.Slot{Schedule: fmt.Sprintf("%d * * * *", best), Starts: fullest[best], Busiest: worst}
	if kind == "daily" {
		slot.Schedule = fmt.Sprintf("%d %d * * *", best%60, best/60)
	}
	return slot
}
