package prune

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Policy limits the history that is kept. Zero fields mean no limit.
type Policy struct {
	PerJob      int           // runs, and skips, of one job
	Age         time.Duration // since the decision
	DeadLetters int           // dead letters of one user, and KiB of their variables and parents
	Bytes       int64         // of the output, variables and parents of the runs of each user
	Rows        int           // maximum runs, skips, backfills and other facts of each user other than root, for each kind
	Gone        int           // jobs of each user other than root that are no longer installed
	All         bool          // look at all jobs, as once in sweepEvery

	// Own returns the limits of a job instead of PerJob and Age; ok is false for jobs without their
	// own. nil means that no job has its own.
	Own func(id job.ID) (k Keep, ok bool)

	// Installed reports whether a user has a job of that name, or a live run of it. The data of
	// other jobs is removed once it is as old as Age, or exceeds Gone. nil keeps everything. The
	// functions are called by the goroutine of Prune.
	Installed func(id job.ID, user string) bool
}

// Keep limits the history of one job. Zero limits keep everything. They do not affect runs that
// another user had under the same name.
type Keep struct {
	User   string
	PerJob int
	Age    time.Duration
}

// Pruned counts what Prune removed.
type Pruned struct {
	Runs, Skips, DeadLetters int
	Outputs                  int // runs whose output, variables and parents were removed
	Jobs                     int // jobs that were removed

	Steps   int           // reads of one snapshot, and transactions
	Longest time.Duration // of the steps
	Widest  int           // most rows that one step looked at
}
