package store

import (
	"time"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Batch is everything that one step of the daemon writes down. It is written
// as one transaction: whole or not at all.
type Batch struct {
	At        time.Time // the step's wall time
	Era       job.Era   // the era after the step
	BootID    string    // the kernel's boot_id, to distinguish a restart from a reboot
	Records   []job.Record
	Summaries []job.Summary  // the last one for each job and user counts
	Roster    *effect.Roster // nil: unchanged
	Outputs   []Output
}

// Output is captured output of one run, in order. It is appended to what the
// run has already. Output of a run that has no row is left out.
type Output struct {
	Run    job.RunID
	Chunks []job.Chunk
}
