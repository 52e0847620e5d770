package store

import (
	"context"
	"math/rand/v2"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// reserve is the content of the history while it could not be opened for writing, because the disk
// is full or read-only: jobs must run anyway. Commit opens the history as soon as the disk allows.
type reserve struct {
	restored Restored
	fresh    bool // no history existed: restored.Seed is new and must be stored
}

// openReserve reads what a start must know without writing anything. If the existing history cannot
// be read, it must not be written before the next start.
func openReserve(ctx context.Context, db *database.DB) *reserve {
	r := &reserve{fresh: true, restored: Restored{
		Holds: job.Holds{}, Ran: map[int64]map[int64]job.Verdict{},
		NextRun: 1, NextBackfill: 1, Seed: rand.Uint64(),
	}}
	err := db.Peek(ctx, func(as *database.DB) error {
		restored, err := (&Store{DB: as}).Restore(ctx)
		if err == nil {
			r.restored, r.fresh = restored, false
		}
		return err
	})
	if err != nil {
		db.Block(err)
	}
	return r
}
