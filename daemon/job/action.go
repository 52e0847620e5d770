package job

import "time"

// Action is one entry of the audit log: something that a person, a program or a changed file did to
// jobs, crontabs or the daemon.
type Action struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Who     string    `json:"who,omitempty"` // "": not known, as for a file that changed
	UID     *uint32   `json:"uid,omitempty"` // of Who
	From    string    `json:"from"`          // "socket, process 4711", "signal", "file"
	What    string    `json:"what"`          // "pause", "edit", "configuration"
	Subject string    `json:"subject,omitempty"`
	Owner   string    `json:"owner,omitempty"` // the user whose job or crontab Subject is
	Why     string    `json:"why,omitempty"`
	Before  string    `json:"before,omitempty"`
	After   string    `json:"after,omitempty"`
	Refused string    `json:"refused,omitempty"` // why it was not permitted; "": it was done

	// Share names whose limit on entries this one counts against: a uid, or another name of one
	// caller. Entries of "" have no limit.
	Share string `json:"-"`
}
