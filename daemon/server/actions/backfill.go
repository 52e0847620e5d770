package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// planned is the maximum number of occurrences in a plan, and backfillRows of backfills in one
// answer.
const (
	planned      = 1000
	backfillRows = 1000
)

// Backfill runs the occurrences of a past period.
func (s *Actor) Backfill(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.BackfillRequest](c)
	if err != nil {
		return err
	}
	i, err := s.find.Only(ctx, c, "backfill", r.Ref)
	if err != nil {
		return err
	}
	b, err := backfillOf(c, i, &r)
	if err != nil {
		return err
	}
	ran, err := s.store.Ran(ctx, b.Job, c.View.Entry(i).User(), b.From, b.To)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	plan, err := c.View.PlanBackfill(b, c.Now, ran, planned)
	if refusal, ok := errors.AsType[*effect.Refusal](err); ok {
		return refused("backfill", string(b.Job), refusal)
	}
	answer := api.Backfill{V: api.Version, Backfill: b, Plan: &api.BackfillPlan{
		Count: plan.Count, LeftOut: plan.LeftOut, First: append([]time.Time{}, plan.First...),
	}}
	if r.DryRun {
		return c.Answer(answer)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var happenings <-chan api.Event
	if r.Wait {
		happenings = s.daemon.Subscribe(ctx)
	}
	a, err := s.ask(ctx, c, event.Backfill{Request: b, Ran: ran})
	if err != nil {
		return err
	}
	if a.Err != nil {
		return refused("backfill", string(b.Job), a.Err)
	}
	answer.Backfill = *a.Backfill
	if r.Wait {
		c.End()
		if answer.Backfill, err = s.awaitBackfill(ctx, happenings, *a.Backfill); err != nil {
			return err
		}
	}
	return c.Answer(answer)
}

// backfillOf reads a request.
func backfillOf(c *call.Call, i int, r *api.BackfillRequest) (job.Backfill, error) {
	b := job.Backfill{
		Job: c.View.ID(i), User: c.View.Entry(i).User(), By: c.Peer.String(),
		Overlap: r.Overlap, Reprocess: cmp.Or(r.Reprocess, job.ReprocessNone), MaxActive: cmp.Or(r.MaxActive, 1),
	}
	switch {
	case b.Overlap == "" && b.MaxActive > 1:
		b.Overlap = "allow"
	case b.Overlap == "":
		b.Overlap = "queue-all"
	}
	from, _, ok := lookup.Span(c.View.Entry(i), r.From)
	first, last, ok2 := lookup.Span(c.View.Entry(i), r.To)
	if !ok || !ok2 {
		text := r.From
		if ok {
			text = r.To
		}
		return b, call.BadRequest(fmt.Sprintf("cannot backfill %q: %q is not a time", r.Ref, text),
			"it must look like 2026-03-01, 2026-03-01T02:30 (both in the entry's zone) or 2026-03-01T02:30:00Z")
	}
	b.From, b.To = from.UTC(), last.UTC()
	if !first.After(c.Now) && last.After(c.Now) { // today until now
		b.To = c.Now
	}
	return b, nil
}

// awaitBackfill waits for the end of a backfill and returns it. events must have been subscribed to
// before the request.
func (s *Actor) awaitBackfill(ctx context.Context, events <-chan api.Event, b job.Backfill) (job.Backfill, error) {
	for {
		e, ok := <-events
		if !ok {
			return b, stoppedWaiting(ctx)
		}
		if r := e.Record; r != nil && r.Backfill != nil && r.Kind == job.Filled && r.Backfill.ID == b.ID && r.Backfill.State != job.BackfillGoing {
			return *r.Backfill, nil
		}
		if e.Gap != nil && !slices.ContainsFunc(s.daemon.View().Backfills(), func(x job.Backfill) bool { return x.ID == b.ID }) {
			return s.backfillBy(ctx, b)
		}
	}
}

// backfillBy returns a backfill from the history.
func (s *Actor) backfillBy(ctx context.Context, b job.Backfill) (job.Backfill, error) {
	all, err := s.store.Backfills(ctx, store.Of{Jobs: []job.ID{b.Job}, User: b.User, Limit: backfillRows})
	if err != nil {
		return b, fmt.Errorf("read history: %w", err)
	}
	for _, x := range all {
		if x.ID == b.ID {
			return x, nil
		}
	}
	return b, nil
}

// ListBackfills answers with backfills, newest first.
func (s *Actor) ListBackfills(ctx context.Context, c *call.Call) error {
	of := store.Of{Limit: backfillRows, User: c.OnlyUser()}
	if refs := c.Query["job"]; len(refs) > 0 {
		numbers, err := s.find.Resolve(ctx, c, "backfill list", refs)
		if err != nil {
			return err
		}
		of.Jobs = c.IDs(numbers)
	}
	stored, err := s.store.Backfills(ctx, of)
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	now := map[int64]job.Backfill{} // the store lags behind while its disk is full
	for _, b := range c.View.Backfills() {
		now[b.ID] = b
	}
	answer := api.Backfills{V: api.Version, Backfills: []job.Backfill{}}
	for _, b := range stored {
		if live, ok := now[b.ID]; ok {
			b = live
		}
		if c.Peer.MayOf(call.View, c.View, b.Job, b.User) {
			answer.Backfills = append(answer.Backfills, b)
		}
	}
	return c.Answer(answer)
}

// StopBackfill ends a backfill.
func (s *Actor) StopBackfill(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.BackfillStop](c)
	if err != nil {
		return err
	}
	all := c.View.Backfills()
	i := slices.IndexFunc(all, func(b job.Backfill) bool { return b.ID == r.ID })
	if i >= 0 {
		if err := c.MissingRole(fmt.Sprint("stop backfill ", r.ID), all[i].Job, all[i].User); err != nil && !c.Peer.MayOf(call.Operate, c.View, all[i].Job, all[i].User) {
			return err
		}
	}
	if i < 0 || !c.Peer.MayOf(call.Operate, c.View, all[i].Job, all[i].User) {
		return &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot stop backfill %d: no such backfill is active", r.ID),
			Why: "there was none with this number, it is over, or it belongs to another user", Fix: "cronring backfill list",
		}
	}
	a, err := s.ask(ctx, c, event.StopBackfill{ID: r.ID, By: c.Peer.String()})
	if err != nil {
		return err
	}
	if a.Err != nil {
		return refused("stop", "backfill "+strconv.FormatInt(r.ID, 10), a.Err)
	}
	return c.Answer(api.Backfill{V: api.Version, Backfill: *a.Backfill})
}
