package api

import (
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Status is the daemon as seen now, on one screen.
type Status struct {
	Health
	Now      time.Time         `json:"now"`
	Draining bool              `json:"draining,omitempty"` // starts nothing more, and ends soon
	Loaded   int               `json:"loaded"`             // jobs of all accounts
	Jobs     int               `json:"jobs"`               // jobs that the asking account may see
	Crontabs int               `json:"crontabs"`           // crontab files
	States   map[job.State]int `json:"states"`             // of the jobs that may be seen
	Next     *Upcoming         `json:"next,omitempty"`     // the nearest start; nil: none planned
	Day      *Totals           `json:"day,omitempty"`      // the last 24 hours of all jobs; only for accounts that see all
	Errors   int               `json:"errors,omitempty"`   // in crontab files; for users without the role admin, in their own
	Warnings int               `json:"warnings,omitempty"`
	Denied   Denied            `json:"denied,omitzero"`
}

// Denied describes what the requesting user may not do, and why, so that programs need not offer
// it. Each field completes a sentence, and is empty if the action is allowed. The daemon checks
// permissions in any case.
type Denied struct {
	Reload  string `json:"reload,omitempty"`  // reading all crontabs again
	Entries string `json:"entries,omitempty"` // changing entries of other users' crontabs: see Row.Fixed
	Crontab string `json:"crontab,omitempty"` // changing its own crontab
}

// Upcoming is one start to come.
type Upcoming struct {
	Job job.ID    `json:"job"`
	At  time.Time `json:"at"`

	Node string `json:"member,omitempty"` // of a ring job: the host whose it is, as the ring is now
}

// Totals counts what became of the occurrences of a period.
type Totals struct {
	Runs    int           `json:"runs"` // ended runs: OK and Failed
	OK      int           `json:"ok"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
	LagP99  time.Duration `json:"lag_p99_ns"` // from due time to start, on-time runs only
}

// Health is the daemon's own well-being.
type Health struct {
	V         int       `json:"v"`
	Version   string    `json:"version"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Zone      string    `json:"zone,omitempty"`      // the host's
	NoDaemon  string    `json:"no_daemon,omitempty"` // not empty: no daemon answers, but a view of the host's crontabs; this says who runs them
	Started   time.Time `json:"started"`
	Session   *Session  `json:"session,omitempty"`   // of jobs; nil: PAM has no part in it
	Problems  []Problem `json:"problems,omitempty"`  // empty: all is well
	Notices   []Problem `json:"notices,omitempty"`   // what is worth knowing and may be meant so: files whose names are ignored
	Unwritten int       `json:"unwritten,omitempty"` // records that wait for the store to come back
	Lost      int       `json:"lost,omitempty"`      // records that it could not wait for
}

// Session reports whether jobs start in a session that PAM opens.
type Session struct {
	PAM     bool   `json:"pam"`
	Service string `json:"service,omitempty"` // the file in /etc/pam.d that decides
	Why     string `json:"why,omitempty"`     // the line or the setting that requires PAM
}

// Problem is a lasting problem, in the three parts of an Error.
type Problem struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Fix  string `json:"fix,omitempty"`
	User string `json:"-"` // whose it is: admins and this user see it; "": all users do
}

// Diagnostic is a crontab.Diagnostic as it is written down.
type Diagnostic struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Column   int          `json:"column"`
	Length   int          `json:"length,omitempty"`
	Severity string       `json:"severity"` // "error", "warning", "notice"
	Code     crontab.Code `json:"code"`
	Message  string       `json:"message"`
	Fix      string       `json:"fix,omitempty"`
}

// NewDiagnostics converts diagnostics for the wire. It never returns nil, so that an empty list is
// [] in JSON.
func NewDiagnostics(diagnostics []crontab.Diagnostic) []Diagnostic {
	written := make([]Diagnostic, 0, len(diagnostics))
	for _, d := range diagnostics {
		written = append(written, Diagnostic{
			File: d.File, Line: d.Line, Column: d.Column, Length: d.Length,
			Severity: d.Severity.String(), Code: d.Code, Message: d.Message, Fix: d.Fix,
		})
	}
	return written
}

// Diagnostics is a list of diagnostics of crontabs.
type Diagnostics struct {
	V           int          `json:"v"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}
