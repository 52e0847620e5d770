package job

import "time"

// Backfill is a request to run occurrences of the past. It survives restarts.
type Backfill struct {
	ID        int64     `json:"id"` // from 1, never used twice
	Job       ID        `json:"job"`
	User      string    `json:"user"` // that the job ran as at the time of the request
	By        string    `json:"by"`
	Asked     time.Time `json:"asked"`
	From      time.Time `json:"from"`    // first occurrence, inclusive
	To        time.Time `json:"to"`      // last occurrence, inclusive
	Overlap   string    `json:"overlap"` // like overlap= of an entry, but among the runs of the backfill
	Reprocess Reprocess `json:"reprocess"`
	MaxActive int       `json:"max_active"` // maximum number of its active runs, at least 1

	Cursor  time.Time     `json:"cursor"` // the newest occurrence that was decided; before From: none
	Started int           `json:"started"`
	Skipped int           `json:"skipped"` // excluded by Reprocess
	Failed  int           `json:"failed"`  // runs of Started that failed for good, or were dropped
	State   BackfillState `json:"state"`
}

// Reprocess selects which occurrences that already ran a backfill runs again.
type Reprocess string

// The values of Reprocess. An occurrence that never ran is always run.
const (
	ReprocessNone   Reprocess = "none"
	ReprocessFailed Reprocess = "failed"
	ReprocessAll    Reprocess = "all"
)

// BackfillState is the progress of a backfill.
type BackfillState string

// The states of a backfill.
const (
	BackfillGoing   BackfillState = "going"
	BackfillDone    BackfillState = "done"
	BackfillStopped BackfillState = "stopped" // by a user, or because the job was removed
)
