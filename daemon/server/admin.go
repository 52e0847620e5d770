package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
)

func (s *Server) config(_ context.Context, c *call.Call) error {
	answer := s.backend.Configuration()
	answer.V = api.Version
	return c.Answer(answer)
}

// tryChannel is for root alone: a channel's program and address are not for
// everybody to set off.
func (s *Server) tryChannel(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.NotifyRequest](c)
	if err != nil {
		return err
	}
	err = s.backend.TryChannel(ctx, r.Channel)
	if known, ok := errors.AsType[*api.Error](err); ok {
		return known
	}
	c.Did(job.Action{What: "notify", Subject: r.Channel})
	if err != nil {
		return &api.Error{
			Kind: api.Conflict, What: "the channel did not take the notice", Why: err.Error(),
			Fix: "look at [channel." + display.Quote(r.Channel) + "] in the configuration",
		}
	}
	return c.Answer(api.Notified{V: api.Version, Channel: r.Channel})
}

func (s *Server) dbStats(ctx context.Context, c *call.Call) error {
	sizes, err := s.store.Sizes(ctx)
	if err != nil {
		return fmt.Errorf("measure history: %w", err)
	}
	return c.Answer(api.DBStats{V: api.Version, Path: sizes.Path, Bytes: sizes.Bytes, Free: sizes.Free, Rows: sizes.Rows})
}

// dbKeep looks after the history. One at a time: each reads all of it.
func (s *Server) dbKeep(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.DBRequest](c)
	if err != nil {
		return err
	}
	if !s.keeping.TryLock() {
		return &api.Error{
			Kind: api.Conflict, What: "cannot " + r.Do + " the history: it is being looked after already",
			Why: "another check, prune or backup is under way", Fix: "wait for its end",
		}
	}
	defer s.keeping.Unlock()
	done := api.DBDone{V: api.Version}
	switch r.Do {
	case api.DBCheck:
		done.Problems, err = s.store.Check(ctx)
	case api.DBPrune:
		var p prune.Pruned
		p, err = s.backend.Prune(ctx)
		done.Runs, done.Skips, done.DeadLetters, done.Outputs = p.Runs, p.Skips, p.DeadLetters, p.Outputs
	case api.DBBackup:
		done.Path, done.Bytes, err = s.store.Backup(ctx, c.Now)
	default:
		return call.BadRequest(fmt.Sprintf("do=%q is nothing that can be done to the history", r.Do), "it is check, prune or backup")
	}
	if errors.Is(err, os.ErrExist) {
		return &api.Error{Kind: api.Conflict, What: "cannot back the history up: there is a backup of this millisecond", Why: err.Error(), Fix: "cronring db backup"}
	}
	did := job.Action{What: "db", Subject: r.Do, After: done.Path}
	if old, ok := errors.AsType[*database.OldBackupError](err); ok {
		c.Did(did)
		return &api.Error{
			Kind: api.Internal, What: "the backup " + done.Path + " is written, but an old one cannot be removed", Why: old.Err.Error(),
			Fix: "find out why, and remove it: ls -l " + filepath.Dir(done.Path),
		}
	}
	if err != nil && r.Do == api.DBBackup {
		why, fix := database.Explain(err, filepath.Dir(filepath.Dir(done.Path)))
		return &api.Error{Kind: api.Internal, What: "cannot back the history up to " + done.Path, Why: why, Fix: cmp.Or(fix, "cronring status")}
	}
	if err != nil {
		return fmt.Errorf("%s history: %w", r.Do, err)
	}
	c.Did(did)
	return c.Answer(done)
}
