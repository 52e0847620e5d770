package store

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// Restored is what a start must know of the lives before it. It is all zero,
// except for Seed and NextRun, in a new database.
type Restored struct {
	Marks    []job.Mark
	Live     []job.Run // queued, waiting, decided or running when last seen; oldest first
	Holds    map[job.ID]job.Hold
	Known    []engine.Known
	NextRun  job.RunID // the first number that no run has had
	Era      job.Era
	LastSeen time.Time // wall time of the newest commit
	BootID   string    // of the newest commit
	Seed     uint64    // random, made with the database, never changed
}

// Restore reads what the engine starts from.
func (s *Store) Restore(ctx context.Context) (Restored, error) { return Restored{}, nil }
