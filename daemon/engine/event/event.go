// Package event owns the events that the engine handles, which are what the daemon observed and what
// people request. The engine handles events in order, one step at a time.
package event

import (
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

// Event is something that happened outside the engine. Operations that effects started
// report back as events.
type Event interface{ event() }

// Tick only reports that time has passed. Every step reads the time, so Tick is needed
// only for steps without another event.
type Tick struct{}

// Started reports that the process of a run exists.
type Started struct {
	Run job.RunID
	PID int
	At  time.Time // wall clock; zero: the step's
}

// Ended reports how a run ended, or that it could not be started.
type Ended struct {
	Run     job.RunID
	Outcome job.Outcome
	At      time.Time  // wall clock; zero: the step's
	Usage   job.Usage  // of all its processes
	Limit   job.Reason // the limit that it exceeded: job.OverMemory, job.OverTasks, or ""
	Refused bool       // the history already has a run of this occurrence, so this run will never be started
	Unrun   bool       // the command certainly did not run, for a reason that need not apply to other hosts
}

// Checked reports the result of the command of if=.
type Checked struct {
	Run     job.RunID
	Outcome job.Outcome // exit status 0 allows the run
}

// Measured reports which of its conditions the host does not meet for a run.
type Measured struct {
	Run   job.RunID
	Unmet Unmet
}

// Unmet are conditions that do not hold. The zero value means that all hold.
type Unmet struct {
	Options string     // their keys, with commas between
	Detail  job.Detail // what was measured, and what is required
	Skip    bool       // the occurrence is skipped; otherwise it waits
}

// RunNow requests a run outside the schedule. It is refused while the job is held, or its user
// must not run jobs, and unless Force is set also while the job is paused or disabled, or when
// overlap= forbids it.
type RunNow struct {
	question
	Job   job.ID
	By    string
	Force bool
	Env   []string // NAME=value, overriding the crontab; also set for further attempts
}

// Stop requests the end of live runs: of one run, or of all runs of a job if Run is 0.
type Stop struct {
	question
	Job    job.ID
	Run    job.RunID
	By     string
	Signal syscall.Signal // 0: the signal of stop-signal=
	Grace  time.Duration  // time between Signal and KILL; 0: the default
}

// Emit reports that a user emitted an event, which starts the jobs that list it in on=. It is answered
// with their runs.
type Emit struct {
	question
	Name  string
	User  string // whose event it is
	Admin bool   // User is an administrator: jobs of all users hear it
	By    string // who emitted it: User, or a token
	Env   []string
}

// Files reports files that arrived for a job with on=file:.
type Files struct {
	Job    job.Owned
	Paths  []string // in order
	More   int      // how many further ones were left out
	Newest time.Time
}

// Beat is a sign of life of a run, for watchdog=. It is refused if the run is not running.
type Beat struct {
	question
	Run job.RunID
}

// Pause requests that occurrences of a job are skipped.
type Pause struct {
	question
	Job  job.ID
	Hold job.Hold
}

// Resume ends a Pause.
type Resume struct {
	question
	Job job.ID
	By  string
}

// Ack records that a person has seen that a job failed, up to the run Seen.Run. The
// caller sets Run, By and Reason of Seen.
type Ack struct {
	question
	Job  job.ID
	Seen job.Ack
}

// Unack withdraws an Ack.
type Unack struct {
	question
	Job job.ID
	By  string
}

// Redrive requests that a run which is over, usually a dead letter, is run again as the
// same occurrence.
type Redrive struct {
	question
	Dead job.Run
	By   string
}

// Bury requests that a dead letter is forgotten.
type Bury struct {
	question
	Dead job.Run
	By   string
}

// Backfill requests that occurrences of the past are run. The caller sets Job, By, From,
// To, Overlap, Reprocess and MaxActive of Request.
type Backfill struct {
	question
	Request job.Backfill
	Ran     map[int64]job.Verdict // occurrences in that range that ran, in Unix nanoseconds, with the verdict of the newest run of each
}

// StopBackfill requests that a backfill decides no further occurrence. Its runs continue.
type StopBackfill struct {
	question
	ID int64
	By string
}

// Drain requests that no further run is started. Occurrences remain undecided until the
// next start of the daemon catches up.
type Drain struct{}

// BarUsers replaces the set of users for whom nothing may start now. Users outside the set may
// start jobs. A BarUsers before the first Load, in the same step, also applies to @reboot
// entries.
type BarUsers struct {
	Users map[string]Barred
}

// Barred is the reason why nothing may start for a user.
type Barred struct {
	Reason job.Reason // job.NoUser, job.AccountRefused
	Detail string
}

// Stamps replaces the days when the jobs of periods last ran. State contains them at
// the start. The event is used when anacron, which wrote them until now, is removed from
// a host.
type Stamps struct {
	Days map[string]timetable.Day
}

// Abandon, after Drain, ends all running jobs: first TERM, then KILL.
type Abandon struct{}

func (Tick) event()     {}
func (Started) event()  {}
func (Ended) event()    {}
func (Measured) event() {}
func (Files) event()    {}
func (Drain) event()    {}
func (Abandon) event()  {}
func (BarUsers) event() {}
func (Stamps) event()   {}
func (Checked) event()  {}

// Question is an event that the engine answers.
type Question interface {
	Event
	answered()
}

// question marks an event as a Question.
type question struct{}

func (question) event()    {}
func (question) answered() {}

// Asked is a question with the token of its answer.
type Asked struct {
	Question
	Token effect.Token
}
