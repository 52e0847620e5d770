package engine

import (
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Moment is one reading of the clocks.
type Moment struct {
	Wall time.Time     // the wall clock, UTC
	Up   time.Duration // time since boot, suspend included (CLOCK_BOOTTIME): no one can set it
}

// Drift is how far the wall clock was set between two readings.
func (m Moment) Drift(from Moment) time.Duration {
	return (m.Wall.Sub(from.Wall) - (m.Up - from.Up)).Abs()
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

	// Unfit are options that the host cannot carry out, and why: their entries
	// are held.
	Unfit map[*crontab.Options]string

	// Saved is when crontabs were saved, by name: up to then the text before
	// counted. A crontab without it counts from now.
	Saved map[string]time.Time

	Limits Limits
	Node   string            // the host's name, for host=
	Labels map[string]string // the host's, for need= and avoid=
	Ring   RingMode

	prepared *prepared // see View.Prepare; nil: the Step does all
}

// Limits are the bounds of the host's configuration on what runs at once. The
// zero value bounds nothing.
type Limits struct {
	MaxRunning int             // runs at once; 0: no limit
	MaxPerUser int             // runs of each user other than root at once; 0: no limit
	QueueMax   int             // runs of one user that wait for a slot; 0: 10,000
	Pools      map[string]Pool // those that the configuration declares
}

// Pool is slots that runs share. One that is not declared has a single slot; a
// user's own table has such a pool for itself.
type Pool struct {
	Size  int           // at least 1
	Rate  int           // starts in each Per; 0: no limit
	Per   time.Duration // at least a second
	Users []string      // accounts whose own tables may use it, beside root's tables
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
	At      time.Time  // wall clock; zero: the step's
	Usage   job.Usage  // of all its processes
	Limit   job.Reason // the limit that it ran into: job.OverMemory, job.OverTasks, or ""
	Refused bool       // the history has its occurrence already, so that it was not started and never is
}

// Checked says what the command of if= answered.
type Checked struct {
	Run     job.RunID
	Outcome job.Outcome // exit status 0 allows the run
}

// RunNow asks for a run outside the schedule. It is refused while the job is
// paused, held or disabled, or when overlap= forbids it, unless Force is set.
type RunNow struct {
	Job   job.ID
	By    string
	Force bool
	Env   []string // NAME=value, over what the table says; further attempts have it, too
	Token Token
}

// Stop asks for live runs to be ended: one run, or all of a job when Run is 0.
type Stop struct {
	Job    job.ID
	Run    job.RunID
	By     string
	Signal syscall.Signal // 0: what stop-signal= says
	Grace  time.Duration  // from it to KILL; 0: as for whoever says nothing
	Token  Token
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

// Ack says that a person has seen that a job failed, up to the run Seen.Run. Of
// Seen, Run, By and Reason are given.
type Ack struct {
	Job   job.ID
	Seen  job.Ack
	Token Token
}

// Unack takes an Ack back.
type Unack struct {
	Job   job.ID
	By    string
	Token Token
}

// Redrive asks for a run that is over, mostly a dead letter, to be run again, as
// its occurrence.
type Redrive struct {
	Dead  job.Run
	By    string
	Token Token
}

// Bury asks for a dead letter to be forgotten.
type Bury struct {
	Dead  job.Run
	By    string
	Token Token
}

// Backfill asks for occurrences of the past to be run. Of Request, Job, By,
// From, To, Overlap, Reprocess and MaxActive are given.
type Backfill struct {
	Request job.Backfill
	Ran     map[int64]job.Verdict // occurrences of that time that ran, Unix nanoseconds, and how the newest run of each ended
	Token   Token
}

// StopBackfill asks for a backfill to decide no further occurrence. Its runs
// go on.
type StopBackfill struct {
	ID    int64
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
	Reason job.Reason // job.NoUser, job.AccountRefused
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

func (Tick) event()         {}
func (Load) event()         {}
func (Started) event()      {}
func (Ended) event()        {}
func (RunNow) event()       {}
func (Stop) event()         {}
func (Pause) event()        {}
func (Resume) event()       {}
func (Drain) event()        {}
func (Abandon) event()      {}
func (Undrain) event()      {}
func (Bar) event()          {}
func (Stamps) event()       {}
func (Checked) event()      {}
func (Redrive) event()      {}
func (Ack) event()          {}
func (Unack) event()        {}
func (Bury) event()         {}
func (Backfill) event()     {}
func (StopBackfill) event() {}

// Token ties an Answer to the question. 0 asks for no answer.
type Token uint64

// Question is an event that the engine answers.
type Question interface {
	Event
	With(Token) Event // the same, to be answered under that token
}

// With sets the token.
func (ev RunNow) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Stop) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Pause) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Resume) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Ack) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Unack) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Redrive) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Bury) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev Backfill) With(t Token) Event { ev.Token = t; return ev }

// With sets the token.
func (ev StopBackfill) With(t Token) Event { ev.Token = t; return ev }
