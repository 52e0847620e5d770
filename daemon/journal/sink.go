package journal

import (
	"log/slog"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Sink receives everything that is logged. One goroutine calls it; only Problem can be called by any
// goroutine. A Sink does not keep its arguments.
type Sink interface {
	Line(*Line)     // a job printed
	Record(*Record) // something became of a job
	Cron(*CronLine) // cron would write this
	Log(*Entry)     // an entry of the daemon's own log
	Flush()         // pass on what is held back
	Close() error

	// Problem returns how many entries were lost until now, and why the last one was not accepted;
	// nil if all is well.
	Problem() (lost int64, err error)
}

// Run holds the properties of a run that its entries are marked with. It is kept for each live run.
type Run struct {
	Job        job.ID
	ID         job.RunID
	Invocation string
	Due        time.Time
	Attempt    int
	Trigger    job.Trigger
	Reason     job.Reason
	User       string
	Crontab    string
	Line       int
	Command    string
	Quiet      bool   // the entry suppresses cron's CMD line
	NoOutput   bool   // its output goes elsewhere, or nowhere
	Anacron    string // the stamp's name of an anacrontab's entry; "" for all others

	PID     int  // of the job's shell; 0 until it is known
	Printed bool // it has printed something
}

// NewRun collects the properties of a run.
func NewRun(r *job.Run, j *job.Job, quiet bool) *Run {
	return &Run{
		Job: r.Job, ID: r.ID, Invocation: r.Invocation, Due: r.Due, Attempt: r.Attempt, Trigger: r.Trigger, Reason: r.Reason,
		User: j.User, Crontab: j.Crontab, Line: j.Line, Command: j.Command, Quiet: quiet, PID: r.PID,
	}
}

// Line is one line that a job printed, without its end.
type Line struct {
	At     time.Time
	Job    job.ID
	Run    job.RunID
	Stream job.Stream
	Text   []byte
	About  *Run // nil: no more is known
}

// Record is a fact, and how people say it; "" is not worth saying to them.
type Record struct {
	*job.Record
	Words   string
	About   *Run // nil: only the record's properties are known
	Written bool // a StartWriter has written the line of the start
}

// Entry is an entry of the daemon's own log.
type Entry struct {
	At      time.Time
	Level   slog.Level
	Message string
	Attrs   []Attr
}

// Attr is a name and a value of an Entry.
type Attr struct{ Key, Value string }
