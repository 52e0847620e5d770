package jobinfo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/state"
)

// Values stores the values that jobs keep.
type Values interface {
	State(ctx context.Context, id job.ID, user, key string) (value []byte, ok bool, err error)
	States(ctx context.Context, id job.ID, user string) ([]state.Entry, error)
	SetState(ctx context.Context, id job.ID, user, key string, value []byte, now time.Time) error
	DeleteState(ctx context.Context, id job.ID, user, key string) (ok bool, err error)
}

// memory returns the job of a reference and its user: saved state belongs to the user. verb is the
// command, as in lookup.
func (s *Informer) memory(ctx context.Context, c *call.Call, verb, ref string) (job.ID, string, error) {
	i, err := s.find.Only(ctx, c, verb+" --job", ref)
	if err != nil {
		return "", "", err
	}
	return c.View.ID(i), c.View.Entry(i).User(), nil
}

// ReadState answers with what a job keeps, or with the value of one key.
func (s *Informer) ReadState(ctx context.Context, c *call.Call) error {
	key, verb := c.Query.Get("key"), "state list"
	if key != "" {
		verb = "state get " + quoteKey(key)
	}
	id, user, err := s.memory(ctx, c, verb, c.Query.Get("job"))
	if err != nil {
		return err
	}
	answer := api.State{V: api.Version, Job: id, Entries: []api.StateEntry{}}
	if key == "" {
		all, err := s.store.States(ctx, id, user)
		if err != nil {
			return fmt.Errorf("read state: %w", err)
		}
		for _, e := range all {
			answer.Entries = append(answer.Entries, api.StateEntry{Key: e.Key, Size: e.Size, At: e.At})
		}
		return c.Answer(answer)
	}
	value, ok, err := s.store.State(ctx, id, user, key)
	switch {
	case err != nil:
		return fmt.Errorf("read state: %w", err)
	case !ok:
		return noState(id, key)
	}
	answer.Entries = append(answer.Entries, api.StateEntry{Key: key, Size: len(value), Value: value})
	return c.Answer(answer)
}

func quoteKey(key string) string { return display.Quote(job.CutText(key)) }

func noState(id job.ID, key string) *api.Error {
	return &api.Error{
		Kind: api.NotFound, What: fmt.Sprintf("cannot find %s of %s: it keeps nothing by that name", display.Quote(key), display.Quote(string(id))),
		Fix: "cronring state list --job " + display.Quote(string(id)),
	}
}

// WriteState stores or deletes a value for a job.
func (s *Informer) WriteState(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.StateRequest](c)
	if err != nil {
		return err
	}
	verb := "state set " + quoteKey(r.Key) + " VALUE"
	if r.Delete {
		verb = "state delete " + quoteKey(r.Key)
	}
	id, user, err := s.memory(ctx, c, verb, r.Job)
	if err != nil {
		return err
	}
	if err := c.Owns("change state of", id, user); err != nil {
		return err
	}
	c.ReleaseQuery() // the disk may be slow
	answer := api.State{V: api.Version, Job: id, Entries: []api.StateEntry{}}
	if r.Delete {
		found, err := s.store.DeleteState(ctx, id, user, r.Key)
		switch {
		case err != nil:
			return fmt.Errorf("delete state: %w", err)
		case !found:
			return noState(id, r.Key)
		}
		didState(c, id, user, r.Key, "deleted")
		return c.Answer(answer)
	}
	err = s.store.SetState(ctx, id, user, r.Key, r.Value, c.Now)
	if bound, ok := errors.AsType[*state.Error](err); ok {
		return call.BadRequest("cannot keep "+display.Quote(r.Key), bound.Error())
	}
	if err != nil {
		return err
	}
	answer.Entries = append(answer.Entries, api.StateEntry{Key: r.Key, Size: len(r.Value), At: c.Now})
	didState(c, id, user, r.Key, fmt.Sprintf("%d bytes", len(r.Value)))
	return c.Answer(answer)
}

// didState notes a change of what a job keeps for the audit log, unless its own user made it: that
// is what its runs do.
func didState(c *call.Call, id job.ID, user, key, after string) {
	if c.Peer.Name != user {
		c.Did(job.Action{What: "state", Subject: string(id), Owner: user, After: "key " + key + ": " + after})
	}
}
