package engine

import (
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Moment is one reading of the clocks.
type Moment struct {
	Wall time.Time     // the wall clock, UTC
	Up   time.Duration // time since boot, suspend included (CLOCK_BOOTTIME): no one can set it
}

// Event is something that happened outside the engine. Acts that effects
// began come back as events.
type Event interface{ event() }

// Tick says that time has passed. Every step looks at the time, so Tick is
// only for steps with no other event.
type Tick struct{}

// Load replaces all tables. Jobs keep mark, hold and live runs by identity.
type Load struct {
	Tables []*crontab.Table

	// Awaited, of the first Load, names tables that cannot be had yet, as
	// nobody knows their accounts: when they come, they are taken as if they
	// had come with it. True: so are their @reboot entries.
	Awaited map[string]bool
}

// Started says that the process of a run exists.
type Started struct {
	Run job.RunID
	PID int
	At  time.Time // wall clock; zero: the step's
}

// Ended says how a run ended, or that it could not be started.
type Ended struct {
	Run     job.RunID
	Outcome job.Outcome
	At      time.Time // wall clock; zero: the step's
}

// RunNow asks for a run outside the schedule. It is refused while the job is
// paused, held or disabled, or when overlap= forbids it, unless Force is set.
type RunNow struct {
	Job   job.ID
	By    string
	Force bool
	Token Token
}

// Stop asks for live runs to be ended: one run, or all of a job when Run is 0.
type Stop struct {
	Job   job.ID
	Run   job.RunID
	By    string
	Token Token
}

// Pause asks for a job's occurrences to be skipped.
type Pause struct {
	Job   job.ID
	Hold  job.Hold
	Token Token
}

// Resume ends a Pause.
type Resume struct {
	Job   job.ID
	By    string
	Token Token
}

// Drain says that no further run is to be started. Occurrences are left
// undecided, for the next start to catch up.
type Drain struct{}

// Undrain takes a Drain back: the daemon that was to take over could not be
// started.
type Undrain struct{}

// Bar replaces the set of accounts for which nothing may start now. An account
// that is absent from it may start jobs. Before the first Load, in the same
// step, it counts for @reboot entries too.
type Bar struct {
	Users map[string]Barred
}

// Barred is why nothing may start as an account.
type Barred struct {
	Reason job.Reason // job.NoAccount, job.AccountRefused
	Detail string
}

// Stamps replaces what is known of the days on which the jobs of periods last
// ran. State has them at the start; this is for when anacron, which wrote them
// until now, was removed from a host.
type Stamps struct {
	Days map[string]crontab.Day
}

// Abandon, after Drain, ends all running jobs: first TERM, then KILL.
type Abandon struct{}

func (Tick) event()    {}
func (Load) event()    {}
func (Started) event() {}
func (Ended) event()   {}
func (RunNow) event()  {}
func (Stop) event()    {}
func (Pause) event()   {}
func (Resume) event()  {}
func (Drain) event()   {}
func (Abandon) event() {}
func (Undrain) event() {}
func (Bar) event()     {}
func (Stamps) event()  {}

// Token ties an Answer to the question. 0 asks for no answer.
type Token uint64
