package engine

import (
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Effect is something to do. Effects are carried out in order, facts first:
// a Record is given to the store before any act of the same step.
type Effect interface{ effect() }

// Fact is a record to be stored and published.
type Fact struct{ Record job.Record }

// Roster is the jobs of crontabs with the time since which each has been known
// with its present schedule. The store keeps it, so that a later start can
// distinguish a missed occurrence from one that did not exist yet.
type Roster struct {
	Whole  bool          // the jobs of all crontabs; else of those that changed
	Tables []RosterTable // by crontab
}

// RosterTable is the jobs of one crontab; none if it is gone.
type RosterTable struct {
	Name  string
	Known []Known
}

// All returns the jobs of all crontabs of the roster.
func (r *Roster) All() (all []Known) {
	for _, t := range r.Tables {
		all = append(all, t.Known...)
	}
	return all
}

// After returns the roster that has the effect of before and then of r. before
// can be nil.
func (r *Roster) After(before *Roster) *Roster {
	if r.Whole || before == nil {
		return r
	}
	newer := make(map[string]bool, len(r.Tables))
	for _, t := range r.Tables {
		newer[t.Name] = true
	}
	both := &Roster{Whole: before.Whole, Tables: slices.Clone(r.Tables)}
	for _, t := range before.Tables {
		if !newer[t.Name] {
			both.Tables = append(both.Tables, t)
		}
	}
	return both
}

// Known is one job of a Roster.
type Known struct {
	Key   job.Key   // of the job's ID alone
	Spec  uint64    // hash of what names its occurrences: schedule, zone, modifiers
	Since time.Time // nothing before this is missed
}

// Stamp says that the job of a period ran, and on which day: the file that
// anacron would find is to say so too.
type Stamp struct {
	ID  string // of the Period: no slash, neither . nor ..
	Day crontab.Day
}

// Start begins a run. Started or Ended comes back.
type Start struct {
	Job   job.Job
	Run   job.Run
	Entry *crontab.Entry `json:"-"` // what Job was made of; see Describe

	LastSuccess time.Time // end of the job's newest success; zero: none is known
}

// Check asks the command of if= whether a run may start. Checked comes back.
// The command is run as the run's account and in its environment, and what it
// prints is dropped.
type Check struct {
	Start
	Command string
}

// Ledger is to be stored: what the engine remembers of a job has changed.
type Ledger struct{ Ledger job.Ledger }

// Tell hands a notice on to whom it concerns.
type Tell struct{ Notice job.Notice }

// Kill sends a signal to the process group of a run.
type Kill struct {
	Run    job.RunID
	Signal syscall.Signal
	Reason job.Reason // why the run is asked to end; "" for the last resort
}

// Answer replies to an event that carried a Token.
type Answer struct {
	Token    Token
	Runs     []job.Run     // the runs that were created or are being stopped
	Backfill *job.Backfill // the one that was begun or stopped
	Err      *Refusal      // nil: done
}

// Refusal is why the engine did not do what was asked.
type Refusal struct {
	Kind   RefusalKind
	Reason string // one sentence
}

func (r *Refusal) Error() string { return r.Reason }

// RefusalKind tells refusals apart for exit codes.
type RefusalKind string

// The kinds of refusal.
const (
	NotFound RefusalKind = "not-found"
	Conflict RefusalKind = "conflict" // paused, overlapping, nothing to stop
	Draining RefusalKind = "draining"
)

func (Fact) effect()   {}
func (Roster) effect() {}
func (Stamp) effect()  {}
func (Start) effect()  {}
func (Kill) effect()   {}
func (Answer) effect() {}
func (Check) effect()  {}
func (Ledger) effect() {}
func (Tell) effect()   {}
