package job

import "time"

// Ledger is what the engine remembers of a job from run to run, beside its
// mark. It survives reload and restart.
type Ledger struct {
	Job  ID     `json:"job"`
	User string `json:"user"` // whose runs these were

	Verdict Verdict   `json:"verdict,omitempty"` // of the newest occurrence that is over
	Run     RunID     `json:"run,omitempty"`
	Due     time.Time `json:"due,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	Success time.Time `json:"success,omitzero"` // end of the newest success
	Bad     int       `json:"bad,omitempty"`    // occurrences in a row that failed
	Told    Told      `json:"told,omitempty"`   // what channels were told of and not yet of its end
	Open    time.Time `json:"open,omitzero"`    // until then breaker= holds the job; in the past: the next run is a probe
	Watched time.Time `json:"watched,omitzero"` // since when expect= counts, where no later success is known
	Ack     *Ack      `json:"ack,omitempty"`
}

// Ack says that a person has seen that a job failed. It covers the runs up to
// one: the next that fails counts again, and any that ends an occurrence takes
// it away.
type Ack struct {
	Run    RunID     `json:"run"` // the newest that it covers
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Covers tells whether a failed run has been seen.
func (a *Ack) Covers(id RunID) bool { return a != nil && id <= a.Run }

// Told is a set of troubles that channels know of.
type Told uint8

// The troubles that last until something ends them.
const (
	ToldFailure Told = 1 << iota // a streak of failures
	ToldLate                     // starts later than max-late=
	ToldExpect                   // no success within expect=
	ToldMissed                   // an occurrence that will not run
	ToldHeld                     // an entry that is held or degraded
)
