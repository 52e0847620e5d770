package store

import (
	"context"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Store is an open history database. Commit and Prune may be called by one
// goroutine each at a time with any number of readers.
type Store struct {
	Notice string // what Open had to do to a damaged database, or ""
}

// Open opens or creates DIR/cronring.db and locks DIR against a second
// daemon (*LockedError). A damaged database is set aside and a new one begun:
// see Store.Notice. A database from a newer version is refused.
func Open(ctx context.Context, dir string) (*Store, error) { return &Store{}, nil }

// Close waits for a running Commit and gives up the lock.
func (s *Store) Close() error { return nil }

// Commit writes the batch in one transaction. An error means that nothing was
// written and that the store stays usable: *DecidedError names the decisions
// to leave out, IsFull tells a full disk apart.
func (s *Store) Commit(ctx context.Context, b Batch) error { return nil }

// DecidedError says that occurrences had been decided before. Records holds
// their indexes in Batch.Records: the loop drops these, does not start their
// runs, and commits the rest.
type DecidedError struct {
	Records []int
}

func (e *DecidedError) Error() string { return "already decided" }

// LockedError says that another process has the directory open.
type LockedError struct {
	Dir string
	PID int // 0: unknown
}

func (e *LockedError) Error() string { return "locked" }

// IsFull reports whether an error means that the disk took no more.
func IsFull(err error) bool { return false }

// IsDamaged reports whether an error means that the database is damaged.
// Closing and opening the store again sets it aside.
func IsDamaged(err error) bool { return false }

// Policy is how much history is kept. Zero fields keep everything.
type Policy struct {
	PerJob int           // runs, and skips, of one job
	Age    time.Duration // since the decision
}

// Pruned counts what Prune removed.
type Pruned struct {
	Runs, Skips int
}

// Prune removes history that the policy does not keep, in slices of a few
// milliseconds so that commits pass in between.
func (s *Store) Prune(ctx context.Context, now time.Time, p Policy) (Pruned, error) {
	return Pruned{}, nil
}

// Filter chooses runs. Zero fields choose all.
type Filter struct {
	Job        job.ID
	Jobs       []job.ID
	State      job.RunState
	FailedOnly bool
	Trigger    job.Trigger
	Since      time.Time // decided at or after
	Until      time.Time // decided before
	Before     job.RunID // the last run of the page before
	Limit      int       // 0: 100
}

// Run gives one run; ok is false when there is none.
func (s *Store) Run(ctx context.Context, id job.RunID) (r job.Run, ok bool, err error) { return }

// Runs gives the chosen runs, newest first.
func (s *Store) Runs(ctx context.Context, f Filter) ([]job.Run, error) { return nil, nil }

// Recent gives up to n newest runs of each job, newest first.
func (s *Store) Recent(ctx context.Context, jobs []job.ID, n int) (map[job.ID][]job.Run, error) {
	return nil, nil
}

// Decisions gives what became of a job's occurrences from (inclusive) to
// (exclusive), in time order; Run is the run as it is now.
func (s *Store) Decisions(ctx context.Context, id job.ID, from, to time.Time, limit int) ([]job.Record, error) {
	return nil, nil
}

// DecisionAt gives what became of one occurrence, in its newest era.
func (s *Store) DecisionAt(ctx context.Context, id job.ID, due time.Time) (rec job.Record, ok bool, err error) {
	return
}

// Records gives the facts that concern no run (paused, resumed, loaded,
// stepped, up, down) from (inclusive) to (exclusive), in time order.
func (s *Store) Records(ctx context.Context, from, to time.Time, limit int) ([]job.Record, error) {
	return nil, nil
}

// Output gives what a run has written, in order.
func (s *Store) Output(ctx context.Context, id job.RunID) ([]job.Chunk, error) { return nil, nil }

// Life is one life of the daemon.
type Life struct {
	Up       time.Time
	LastSeen time.Time // its newest commit
	Down     time.Time // zero: it lives, or died unseen
	Clean    bool      // it stopped in good order
	BootID   string
}

// Lives gives the daemon's lives that touch the time from..to, oldest first.
func (s *Store) Lives(ctx context.Context, from, to time.Time) ([]Life, error) { return nil, nil }

// Totals sums up what was decided since a time.
type Totals struct {
	Runs    int
	OK      int
	Failed  int
	Live    int
	Dropped int
	Skipped int
	LagP50  time.Duration // from due to started, of runs on the clock
	LagP99  time.Duration
	LagMax  time.Duration
}

// Totals sums up what was decided at or after since.
func (s *Store) Totals(ctx context.Context, since time.Time) (Totals, error) { return Totals{}, nil }

// Size is the bytes that the database takes on disk.
func (s *Store) Size() (int64, error) { return 0, nil }
