// Package effect owns what a step of the engine returns for the daemon to carry out:
// facts to store, processes to start and to signal, notifications, and answers to
// requests.
package effect

import (
	"slices"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// Effect is something that the caller must carry out. Effects are carried out in order,
// facts first: a Record is passed to the store before any other effect of the same step.
type Effect interface{ effect() }

// Fact is a record to be stored and published.
type Fact struct{ Record job.Record }

// Roster contains the jobs of crontabs, and since when each has been known with its
// current schedule. The store keeps it, so that a later start can distinguish a missed
// occurrence from one that did not exist yet.
type Roster struct {
	Whole    bool            // true: all crontabs; false: only the crontabs that changed
	Crontabs []RosterCrontab // by crontab
}

// RosterCrontab contains the jobs of one crontab, and is empty if the crontab is gone.
type RosterCrontab struct {
	Name  string
	Known []Known
}

// All returns the jobs of all crontabs of the roster.
func (r *Roster) All() (all []Known) {
	for _, t := range r.Crontabs {
		all = append(all, t.Known...)
	}
	return all
}

// After returns a roster with the combined effect of before and then r. before can be
// nil.
func (r *Roster) After(before *Roster) *Roster {
	if r.Whole || before == nil {
		return r
	}
	newer := make(map[string]bool, len(r.Crontabs))
	for _, t := range r.Crontabs {
		newer[t.Name] = true
	}
	both := &Roster{Whole: before.Whole, Crontabs: slices.Clone(r.Crontabs)}
	for _, t := range before.Crontabs {
		if !newer[t.Name] {
			both.Crontabs = append(both.Crontabs, t)
		}
	}
	return both
}

// Known is one job of a Roster.
type Known struct {
	Key   job.Key   // of the job's ID alone
	Spec  uint64    // hash of what defines its occurrences: schedule, zone, modifiers
	Since time.Time // earlier occurrences do not count as missed
}

// Stamp reports that the job of a period ran, and on which day. The daemon must write
// this to the file that anacron would read.
type Stamp struct {
	ID  string // ID of the Period; contains no slash and is neither . nor ..
	Day timetable.Day
}

// Start starts a run. Started or Ended reports the result.
type Start struct {
	Job   job.Job
	Run   job.Run
	Entry *crontab.Entry `json:"-"` // the entry that Job describes; see Describe

	LastSuccess time.Time // end of the job's newest success; zero: not known
}

// Check runs the command of if=, which decides whether a run may start. Checked reports
// the result. The command runs as the run's user and with its environment. Its output is
// discarded.
type Check struct {
	Start
	Command string
}

// Measure measures the conditions of the host that a run requires. Measured reports the result.
type Measure struct {
	Run        job.RunID
	User       string // of the run, who must learn no more than they can see
	Conditions *option.Conditions
}

// WatchFiles replaces the files whose arrival is reported with Files.
type WatchFiles struct{ Jobs []FileWatch }

// FileWatch is the files that a job with on=file: waits for.
type FileWatch struct {
	Job      job.Owned
	Patterns []string  // of absolute paths
	Since    time.Time // what arrived earlier does not count
}

// Summary requests that a changed summary of a job is stored.
type Summary struct{ Summary job.Summary }

// Notify sends a notification to its channels.
type Notify struct{ Notice job.Notice }

// Kill sends a signal to the process group of a run.
type Kill struct {
	Run    job.RunID
	Signal syscall.Signal
	Reason job.Reason // why the run is stopped; "" for the final KILL
}

// Answer replies to an event that carried a Token.
type Answer struct {
	Token    Token
	Runs     []job.Run     // the runs that were created or are being stopped
	Backfill *job.Backfill // the backfill that was started or stopped
	Err      *Refusal      // nil: done
}

// Refusal is the reason why the engine refused a request.
type Refusal struct {
	Kind   RefusalKind
	Reason string // one sentence
	Final  bool   // --force would be refused too
}

func (r *Refusal) Error() string { return r.Reason }

// RefusalKind classifies refusals for exit codes.
type RefusalKind string

// The kinds of refusal.
const (
	NotFound RefusalKind = "not-found"
	Conflict RefusalKind = "conflict" // paused, overlapping, nothing to stop
	Draining RefusalKind = "draining"
)

func (Fact) effect() {}

func (Roster) effect() {}

func (Stamp) effect() {}

func (WatchFiles) effect() {}

func (Start) effect() {}

func (Kill) effect() {}

func (Answer) effect() {}

func (Check) effect() {}

func (Measure) effect() {}

func (Summary) effect() {}

func (Notify) effect() {}

// Token identifies the request that an Answer belongs to. 0 requests no answer.
type Token uint64
