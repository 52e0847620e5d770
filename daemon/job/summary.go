package job

import (
	"cmp"
	"time"
)

// Summary is what the engine remembers of the past runs of a user's job, in addition to its mark. It
// survives reload and restart, and is stored in the table ledger.
//
// It counts occurrences that are over: neither attempts that are retried nor runs of a backfill. The
// newest ended run of a job, with its times and how it ended, is in the history; package jobstate
// caches it for lists, which the engine never reads.
type Summary struct {
	Job  ID     `json:"job"`
	User string `json:"user"` // that the runs ran as

	Verdict Verdict   `json:"verdict,omitempty"` // of the newest occurrence that is over
	Run     RunID     `json:"run,omitempty"`
	Due     time.Time `json:"due,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	Success    time.Time `json:"success,omitzero"`     // end of the newest success
	SuccessDue time.Time `json:"success_due,omitzero"` // and when it was due
	Bad        int       `json:"bad,omitempty"`        // occurrences in a row that failed
	Notified   Notified  `json:"told,omitempty"`       // current troubles for which a notification was sent
	Open       time.Time `json:"open,omitzero"`        // until then breaker= suspends the job; in the past: the next run is a probe
	Watched    time.Time `json:"watched,omitzero"`     // from when expect= counts if no later success is known
	Ack        *Ack      `json:"ack,omitempty"`

	// Since is, of a job with on=file:, the newest change of a file that has started it. Of a job with
	// delay= it is when a late occurrence was skipped, and the delay of the next one begins then.
	Since time.Time `json:"since,omitzero"`
}

// Ack records that a user has acknowledged the failure of a job. It covers runs up to Run: the next
// failure counts again, and any run that ends an occurrence clears it.
type Ack struct {
	Run    RunID     `json:"run"` // the newest run that it covers
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Covers reports whether the failure of a run has been acknowledged.
func (a *Ack) Covers(id RunID) bool { return a != nil && id <= a.Run }

// Notified is a set of troubles for which a notification was sent.
type Notified uint8

// The troubles that last until an event ends them.
const (
	NotifiedFailure Notified = 1 << iota // a streak of failures
	NotifiedLate                         // starts later than max-late=
	NotifiedExpect                       // no success within expect=
	NotifiedMissed                       // an occurrence that will not run
	NotifiedHeld                         // an entry that is held or degraded
)

// Owned identifies a job of a user. A name may pass to another user and back: the summary
// of one user's job says nothing about the other's.
type Owned struct {
	Job  ID
	User string
}

// Compare orders jobs by ID, and those with the same ID by user.
func (o Owned) Compare(x Owned) int {
	return cmp.Or(cmp.Compare(o.Job, x.Job), cmp.Compare(o.User, x.User))
}
