package event

import (
	"cmp"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/install"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/job"
)

// Load replaces all crontabs. Jobs with the same identity keep their mark, hold and live
// runs.
type Load struct {
	Crontabs []*crontab.File

	// Awaited, in the first Load, lists crontabs that cannot be loaded yet because their
	// users are not known. When they are loaded later, they are treated as if they had
	// been in the first Load. If the value is true, this includes their @reboot entries.
	Awaited map[string]bool

	// Unfit maps options that the host cannot apply to the reason. Their entries are
	// held.
	Unfit map[*option.Options]string

	// Saved contains when each crontab was saved, by name. Until that time
	// the previous text applies. A crontab that is not in it applies from now.
	Saved map[string]time.Time

	Limits    slots.Limits
	Blackouts timetable.Blackouts
	Node      string            // the host name, for host=
	Labels    map[string]string // labels of the host, for need= and avoid=
	Ring      RingMode

	CatchupRate int // caught-up runs of each user that start in a second; 0: no limit

	Prepared *install.Prepared // see View.Prepare; nil: Step does all the work
}

func (Load) event() {}

// Prepare prepares the load if before is installed now.
func (ev *Load) Prepare(before *catalog.Catalog, now time.Time) *install.Prepared {
	return install.Prepare(ev.Crontabs, ev.Saved, ev.unfit(), before, now)
}

// unfit returns the function that reports why this host cannot run an entry, or "".
func (ev *Load) unfit() func(*crontab.Entry) string {
	shortage := ev.Limits.Shortage()
	return func(entry *crontab.Entry) string {
		o := entry.Options()
		return cmp.Or(shortage(entry), ev.Unfit[o], ringFault(entry, o, ev.Ring))
	}
}

// ringFault returns why an entry with scope=ring must not run here at all, or "".
func ringFault(entry *crontab.Entry, o *option.Options, mode RingMode) string {
	switch {
	case o.Scope != option.ScopeRing:
		return ""
	case entry.Schedule == timetable.Reboot:
		return job.HeldRingReboot
	case o.Period != nil:
		return job.HeldRingPeriod
	case mode == NoRing:
		return job.HeldNoRing
	case mode == Available && o.Partitioned == option.PartitionedHold:
		return job.HeldNoVoters
	}
	return ""
}

// RingMode is the mode of the ring in the configuration.
type RingMode uint8

// The modes.
const (
	NoRing    RingMode = iota // this host is not in a ring
	Available                 // members decide by what they see of each other
	Strict                    // the voters grant occurrences and record this in a ledger
)
