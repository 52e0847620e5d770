package simulated

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/database"
)

// The methods of the server's Store search the facts themselves, from end to end. They return what
// those of package store return for the same facts, unless the clock was set back:
// TestQueriesAnswerAsThoseOfTheHistory compares them. They do not enforce limits on values, events and
// texts, and the size, the check and the backup of the history are invented. All fail with Broken.
//
// A real history would need a directory, and the demo would need almost three times as long to start:
// 0.5 s instead of 0.2 s.

// Sizes does what store.Store.Sizes does.
func (w *World) Sizes(context.Context) (database.Sizes, error) {
	return database.Sizes{Path: "db"}, nil
}

// Bytes does what store.Store.Bytes does.
func (w *World) Bytes() int64                            { return 4096 }
func (w *World) Check(context.Context) ([]string, error) { return nil, nil }

// Backup does what store.Store.Backup does.
func (w *World) Backup(context.Context, time.Time) (string, int64, error) {
	return "/state/backup/copy", 1, w.Broken
}

// Output does what store.Store.Output does.
func (w *World) Output(ctx context.Context, id job.RunID) ([]job.Chunk, error) {
	run, ok, _ := w.Run(ctx, id)
	if !ok {
		return nil, w.Broken
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	chunks := slices.Clone(w.Chunks[id])
	for i := range chunks {
		chunks[i].Job, chunks[i].User = run.Job, ""
	}
	return chunks, w.Broken
}

// Lives does what store.Store.Lives does, as if everything had been committed now.
func (w *World) Lives(_ context.Context, from, to time.Time) ([]store.Life, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lives := slices.Clone(w.lives)
	lives[len(lives)-1].LastSeen = w.now
	return slices.DeleteFunc(lives, func(l store.Life) bool { return l.LastSeen.Before(from) || l.Up.After(to) }), w.Broken
}
