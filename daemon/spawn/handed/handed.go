package handed

import (
	"encoding/json"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/starter"
)

// Run is a run with a process that one daemon hands over to the next, as JSON. Descriptors are
// numbers in this process and stay the same over exec; 0 means none.
type Run struct {
	Run job.RunID
	Job job.ID
	PID int

	User string `json:",omitempty"` // whose memory its output takes

	// Child means that the process is this process's child, as after exec. It is false after a
	// crash, when the process has another parent.
	Child   bool
	Session bool `json:",omitempty"` // Options.Sessions started it, and reports its end

	Out   int `json:",omitempty"` // reading end of standard output
	Err   int `json:",omitempty"` // reading end of standard error
	PIDFD int `json:",omitempty"`

	// Output is what was read so far, including omissions. After a crash it is unknown, and Adopt
	// takes it from Options.Runs.
	Output []job.Chunk `json:",omitempty"`

	// Outcome, Ended, Usage and Limit are set for a process that is gone already
	// and whose pipes are still read.
	Outcome job.Outcome `json:",omitzero"`
	Ended   time.Time   `json:",omitzero"`
	Usage   job.Usage   `json:",omitzero"`
	Limit   job.Reason  `json:",omitempty"` // that a session ran into, or a run that its shim saw the end of

	// Tail reports that the end of the run was reported, and that background processes hold its
	// output open. OutputMax is what Late still reports.
	Tail bool `json:",omitempty"`

	OutputMax int             `json:",omitempty"` // bytes of output kept; 0 leaves it to Options
	Log       int             `json:",omitempty"` // writing end of what goes to the file of log=
	LogStatus int             `json:",omitempty"` // reading end of what is said about that file
	Group     json.RawMessage `json:",omitempty"` // the control group; after a crash it is read from a file in Options.Runs
	Stopped   bool            `json:",omitempty"` // a stop was requested
	Over      job.Outcome     `json:",omitzero"`  // how its process ended, if it was stopped and other processes of its group are alive

	// Progress and Status describe a process whose command may not run yet, and the descriptor of
	// its reports: Started was not sent. Only the parent uses them.
	Progress *starter.Progress `json:"Stage,omitempty"`
	Status   int               `json:",omitempty"`
}

// Why runs are lost.
const (
	Unseen   = "its end was not seen: the daemon that started it was killed"
	Mute     = Unseen + ", and this kernel reports the end of a process only to its parent"
	Unreaped = Unseen + ", and its parent, usually process 1, does not collect its exit status"
	Beyond   = Unseen + ", and it cannot be signalled safely; it may still be running"
)

// Lost is the outcome of a run whose end nobody saw.
func Lost(why string) job.Outcome { return job.Outcome{Kind: job.Lost, Error: why} }
