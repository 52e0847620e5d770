// Package upkeep owns the requests of administrators that concern the daemon itself: its
// configuration, test notifications, and checks, backups and cleanup of the history.
package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
)

// Daemon is the daemon, as far as its upkeep needs it.
type Daemon interface {
	// Configuration returns the daemon's configuration.
	Configuration() api.Config
	// TryChannel sends a test notification through a channel and returns its result. The error is an
	// api.Error of kind NotFound if there is no such channel.
	TryChannel(ctx context.Context, name string) error
	// Prune removes history that the options of jobs do not keep, now.
	Prune(ctx context.Context) (prune.Pruned, error)
}

// Store is the history, as far as it is maintained on request.
type Store interface {
	Sizes(ctx context.Context) (database.Sizes, error)
	Check(ctx context.Context) (problems []string, err error)
	Backup(ctx context.Context, now time.Time) (path string, size int64, err error)
}

// Maintainer maintains the daemon and its history for administrators.
type Maintainer struct {
	daemon Daemon
	store  Store
	busy   sync.Mutex // held while the history is checked, pruned or backed up
}

// New returns a Maintainer.
func New(d Daemon, s Store) *Maintainer { return &Maintainer{daemon: d, store: s} }

// Config answers with the configuration in force.
func (m *Maintainer) Config(_ context.Context, c *call.Call) error {
	answer := m.daemon.Configuration()
	answer.V = api.Version
	return c.Answer(answer)
}

// TryChannel sends a test notification through a channel. Only admins may send it, because it runs
// the channel's program.
func (m *Maintainer) TryChannel(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.NotifyRequest](c)
	if err != nil {
		return err
	}
	err = m.daemon.TryChannel(ctx, r.Channel)
	if known, ok := errors.AsType[*api.Error](err); ok {
		return known
	}
	c.Did(job.Action{What: "notify", Subject: r.Channel})
	if err != nil {
		return &api.Error{
			Kind: api.Conflict, What: "the channel did not accept the notification", Why: err.Error(),
			Fix: "look at [channel." + display.Quote(r.Channel) + "] in the configuration",
		}
	}
	return c.Answer(api.Notified{V: api.Version, Channel: r.Channel})
}

// Sizes answers with the sizes of the history.
func (m *Maintainer) Sizes(ctx context.Context, c *call.Call) error {
	sizes, err := m.store.Sizes(ctx)
	if err != nil {
		return fmt.Errorf("measure history: %w", err)
	}
	return c.Answer(api.DBStats{V: api.Version, Path: sizes.Path, Bytes: sizes.Bytes, Free: sizes.Free, Rows: sizes.Rows})
}

// Maintain checks, prunes or backs up the history, for one caller at a time: each reads all of it.
func (m *Maintainer) Maintain(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.DBRequest](c)
	if err != nil {
		return err
	}
	if !m.busy.TryLock() {
		return &api.Error{
			Kind: api.Conflict, What: "cannot " + r.Do + " the history: another check, prune or backup is running",
			Why: "each of them reads the whole history", Fix: "wait for its end",
		}
	}
	defer m.busy.Unlock()
	done := api.DBDone{V: api.Version}
	switch r.Do {
	case api.DBCheck:
		done.Problems, err = m.store.Check(ctx)
	case api.DBPrune:
		var p prune.Pruned
		p, err = m.daemon.Prune(ctx)
		done.Runs, done.Skips, done.DeadLetters, done.Outputs = p.Runs, p.Skips, p.DeadLetters, p.Outputs
	case api.DBBackup:
		done.Path, done.Bytes, err = m.store.Backup(ctx, c.Now)
	default:
		return call.BadRequest(fmt.Sprintf("invalid do=%q: expected check, prune or backup", r.Do), "")
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
