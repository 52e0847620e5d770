package api

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Query chooses jobs. Each field narrows the choice; the zero value chooses
// all that the account may see.
type Query struct {
	Refs    []string    // job references: name, glob, FILE:LINE, @failed @running @late @paused
	States  []job.State // any of them
	User    string
	Crontab string   // path of a crontab file, or its last element
	Labels  []string // all of them: key:value, or a key
}

// Jobs is a list of jobs, worst state first, then by name.
type Jobs struct {
	V    int          `json:"v"`
	Jobs []job.Status `json:"jobs"`
}

// Job is everything about one job.
type Job struct {
	V int `json:"v"`
	job.Status
	Meaning     string       `json:"meaning,omitempty"`     // the schedule in plain words
	Upcoming    []time.Time  `json:"upcoming,omitempty"`    // the next occurrences
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // of its line
}

// Filter chooses past and present runs. Each field narrows the choice.
type Filter struct {
	Refs    []string // job references
	Failed  bool     // ended, and not with success
	Live    bool     // not ended; only Refs and Limit apply as well
	Skipped bool     // occurrences that were not run, instead of runs
	Trigger job.Trigger
	Since   time.Time
	Until   time.Time
	Before  job.RunID // older than this run: for the next page
	Limit   int       // maximum number, the newest; 0 means 100
	Node    string    // of that member of the ring, or AllNodes; "": of the asked host
}

// Runs is a list of runs, newest first.
type Runs struct {
	V       int          `json:"v"`
	Runs    []job.Run    `json:"runs"`
	Skipped []job.Record `json:"skipped,omitempty"` // when Filter.Skipped
	Missing []string     `json:"missing,omitempty"` // when Filter.Node is AllNodes: who could not be asked, and why
}

// AllNodes, as Filter.Node, is every member of the ring that is up.
const AllNodes = "all"

// Run is one run.
type Run struct {
	V int `json:"v"`
	job.Run
}

// RunRequest requests runs now.
type RunRequest struct {
	Refs  []string `json:"jobs"`
	Force bool     `json:"force,omitempty"`           // also when paused, held, disabled or overlapping
	Wait  bool     `json:"wait,omitempty"`            // answer when the last attempt has ended
	Env   []string `json:"env,omitempty" max:"16384"` // NAME=value, overrides the crontab; see job.CheckEnv
}

// StopRequest requests the end of runs.
type StopRequest struct {
	Refs      []string      `json:"refs"`                 // job references: all their runs; or run references
	Signal    string        `json:"signal,omitempty"`     // a signal that stop-signal= allows; "": the job's stop-signal=
	KillAfter time.Duration `json:"kill_after,omitempty"` // from the signal to KILL, nanoseconds; 0: as usual; at most a day
}

// PauseRequest makes jobs skip their occurrences until they are resumed.
type PauseRequest struct {
	Refs   []string  `json:"jobs"`
	From   time.Time `json:"from,omitzero"`  // zero: now
	Until  time.Time `json:"until,omitzero"` // zero: until resumed
	Next   int       `json:"next,omitempty"` // number of occurrences to skip instead; the jobs still run on request
	Reason string    `json:"reason,omitempty"`
}

// MostSkipped is the maximum number of occurrences that one request skips.
const MostSkipped = 1000

// ResumeRequest ends pauses.
type ResumeRequest struct {
	Refs []string `json:"jobs"`
}

// Changed names the jobs that a pause or resume took effect on.
type Changed struct {
	V    int      `json:"v"`
	Jobs []job.ID `json:"jobs"`
}
