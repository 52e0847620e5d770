package actions

import (
	"context"
	"fmt"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/lookup"
	"github.com/cronring/cronring/daemon/store"
)

// ListDead answers with dead letters.
func (s *Actor) ListDead(ctx context.Context, c *call.Call) error {
	limit, err := c.Limit(100, lookup.MaxRows)
	if err != nil {
		return err
	}
	jobs, err := s.find.HistoryOf(ctx, c)
	if err != nil {
		return err
	}
	found, err := s.deadLettersOf(ctx, c, jobs, limit)
	if err != nil {
		return err
	}
	return c.Answer(api.DeadLetters{V: api.Version, List: found})
}

// Redrive runs dead letters again.
func (s *Actor) Redrive(ctx context.Context, c *call.Call) error {
	letters, err := s.named(ctx, c, "dead retry")
	if err != nil {
		return err
	}
	runs, err := s.runAgain(ctx, c, "dead retry", letters)
	if err != nil {
		return err
	}
	return c.Answer(api.Runs{V: api.Version, Runs: runs})
}

// runAgain starts each run's occurrence again. verb is the requested command.
func (s *Actor) runAgain(ctx context.Context, c *call.Call, verb string, letters []api.DeadLetter) ([]job.Run, error) {
	runs := []job.Run{}
	err := s.eachDeadLetter(ctx, c, verb, letters, func(l api.DeadLetter) (event.Event, error) {
		whole, isLetter, err := s.store.DeadLetter(ctx, l.Run.ID)
		if isLetter {
			l.Run = whole.Run
		}
		return event.Redrive{Dead: l.Run, By: c.Peer.String()}, err
	}, func(_ api.DeadLetter, a effect.Answer) { runs = append(runs, a.Runs...) })
	return runs, err
}

// Drop discards dead letters.
func (s *Actor) Drop(ctx context.Context, c *call.Call) error {
	letters, err := s.named(ctx, c, "dead drop")
	if err != nil {
		return err
	}
	dropped := []api.DeadLetter{}
	err = s.eachDeadLetter(ctx, c, "dead drop", letters, func(l api.DeadLetter) (event.Event, error) {
		return event.Bury{Dead: l.Run, By: c.Peer.String()}, nil
	}, func(l api.DeadLetter, _ effect.Answer) { dropped = append(dropped, l) })
	if err != nil {
		return err
	}
	return c.Answer(api.DeadLetters{V: api.Version, List: dropped})
}

// deadLetterPage is the number of dead letters whose events are in memory at a time: each can have many
// variables.
const deadLetterPage = 100

// eachDeadLetter sends an event to the engine for each dead letter. A refusal for one does not affect the
// others; the first refusal is the error. Other users may compute while the engine answers for a page, but
// not while eventOf reads the history.
func (s *Actor) eachDeadLetter(ctx context.Context, c *call.Call, verb string, letters []api.DeadLetter, eventOf func(api.DeadLetter) (event.Event, error), done func(api.DeadLetter, effect.Answer)) error {
	var first *api.Error
	count := 0
	for page := range slices.Chunk(letters, deadLetterPage) {
		events := make([]event.Event, len(page))
		for i, l := range page {
			var err error
			if events[i], err = eventOf(l); err != nil {
				return fmt.Errorf("read history: %w", err)
			}
		}
		answers, err := s.askAll(ctx, c, events)
		for i, a := range answers {
			l := page[i]
			switch {
			case a.Err == nil:
				done(l, a)
				count++
			case first == nil:
				first = refused(verb, "run "+l.Run.ID.String(), a.Err)
				if first.Fix = "cronring dead list"; verb == "retry" {
					first.Fix = "cronring history " + display.Quote(string(l.Run.Job))
				}
			}
		}
		if err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	if count > 0 {
		first.Why += fmt.Sprintf("; done for %d of %d", count, len(letters))
	}
	return first
}

// named returns the dead letters that a request names: at least one.
func (s *Actor) named(ctx context.Context, c *call.Call, verb string) ([]api.DeadLetter, error) {
	r, err := call.Body[api.DeadLetterRequest](c)
	if err != nil {
		return nil, err
	}
	if len(r.Refs) > 0 == r.All {
		return nil, call.BadRequest("cannot "+lookup.Doing(verb)+" dead letters: name runs or jobs, or say all", "neither was named, or both were")
	}
	var found []api.DeadLetter
	if r.All {
		jobs, err := s.find.HistoryOf(ctx, c)
		if err != nil {
			return nil, err
		}
		found, err = s.deadLettersOf(ctx, c, jobs, lookup.MaxRows)
		if err != nil {
			return nil, err
		}
	}
	seen := map[job.RunID]bool{}
	for _, text := range r.Refs {
		more, err := s.deadLettersBy(ctx, c, verb, text)
		if err != nil {
			return nil, err
		}
		for _, l := range more {
			if !seen[l.Run.ID] {
				seen[l.Run.ID] = true
				found = append(found, l)
			}
		}
	}
	if len(found) == 0 {
		return nil, noDeadLetter(verb, "that")
	}
	return found, nil
}

// deadLettersBy returns the dead letters of a reference: that of a run, or all of a job.
func (s *Actor) deadLettersBy(ctx context.Context, c *call.Call, verb, text string) ([]api.DeadLetter, error) {
	ref, err := lookup.ParseRunRef(text)
	if err != nil {
		return nil, err
	}
	if ref.ID > 0 || ref.Job != text {
		r, err := s.find.OneRun(ctx, c, verb, text)
		if err != nil {
			return nil, err
		}
		l, ok, err := s.store.DeadLetter(ctx, r.ID)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read history: %w", err)
		case !ok:
			return nil, noDeadLetter(verb, "run "+r.ID.String())
		}
		return []api.DeadLetter{apiDeadLetter(l)}, nil
	}
	found, err := s.find.ResolveOne(ctx, c, verb, text)
	ids := c.IDs(found)
	if err != nil {
		gone, ok := s.find.Removed(ctx, c, text)
		if !ok {
			return nil, err
		}
		ids = []job.ID{gone}
	}
	letters, err := s.deadLettersOf(ctx, c, ids, lookup.MaxRows)
	if err == nil && len(letters) == 0 {
		err = noDeadLetter(verb, display.Quote(text))
	}
	return letters, err
}

// deadLettersOf returns the dead letters of jobs, or of all if jobs is nil, that the caller sees.
func (s *Actor) deadLettersOf(ctx context.Context, c *call.Call, jobs []job.ID, limit int) ([]api.DeadLetter, error) {
	of := store.Of{Jobs: jobs, Limit: limit, User: c.OnlyUser()}
	found, err := s.store.DeadLetters(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	letters := make([]api.DeadLetter, 0, len(found))
	for _, l := range found {
		if c.SeesRun(&l.Run) {
			letters = append(letters, apiDeadLetter(l))
		}
	}
	return letters, nil
}

func apiDeadLetter(l store.DeadLetter) api.DeadLetter {
	return api.DeadLetter{Run: l.Run, Since: l.At, Why: l.Why.Words()}
}

func noDeadLetter(verb, what string) *api.Error {
	return &api.Error{
		Kind: api.NotFound, What: fmt.Sprintf("cannot %s %s: it is not among the dead letters", lookup.Doing(verb), what),
		Why: "only runs that failed for good under on-exhausted=dead are, until they are run again or discarded", Fix: "cronring dead list",
	}
}
