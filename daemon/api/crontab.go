package api

import "time"

// Crontab is a user's table as it is installed.
type Crontab struct {
	V       int    `json:"v"`
	User    string `json:"user"`
	File    string `json:"file"`
	Missing bool   `json:"missing,omitempty"` // the user has none
	Text    []byte `json:"text,omitempty"`
	Sum     string `json:"sum"` // of what its owner wrote: for InstallRequest.Base
}

// InstallRequest puts a table in the place of a user's own.
type InstallRequest struct {
	User string `json:"user,omitempty"`            // "": the caller
	File string `json:"file,omitempty" max:"4096"` // where the text comes from, for diagnostics and the header
	Text []byte `json:"text"`
	Base string `json:"base,omitempty"` // refuse unless the crontab has this checksum; "": any content
}

// UserRequest is about one user's table.
type UserRequest struct {
	User string `json:"user,omitempty"` // "": the caller
}

// UndoRequest restores a version of a crontab.
type UndoRequest struct {
	Revision int64  `json:"revision,omitempty"`        // 0: the version before the newest
	User     string `json:"user,omitempty"`            // whose, when neither revision nor file is named; "": the caller
	File     string `json:"file,omitempty" max:"4096"` // which, when no revision is named
}

// Installed describes a crontab that was installed, removed or restored, and that the daemon has
// loaded.
type Installed struct {
	V           int          `json:"v"`
	User        string       `json:"user"`
	File        string       `json:"file"`
	Gone        bool         `json:"gone,omitempty"`        // the crontab was removed
	Entries     int          `json:"entries"`               // of the new table; of the old one when it is gone
	Restored    int64        `json:"restored,omitempty"`    // the revision that was restored
	Before      int64        `json:"before,omitempty"`      // the revision that undoes this; 0: none is kept
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // on the new table
	Notice      string       `json:"notice,omitempty"`      // what did not go well beside it
}

// Revision is one version of a table.
type Revision struct {
	ID   int64     `json:"id"`
	File string    `json:"file"`
	User string    `json:"user"`
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"`   // who did it, when that is known
	How  string    `json:"how"`            // "install", "remove", "undo", "seen"
	Gone bool      `json:"gone,omitempty"` // no crontab existed after this change
	Size int       `json:"size"`           // in bytes
	Text []byte    `json:"text,omitempty"` // of one revision; lists leave it out
}

// RevisionQuery chooses revisions. Each field narrows the choice.
type RevisionQuery struct {
	File   string
	User   string
	Before int64 // older than this one: for the next page
	Limit  int   // maximum number, the newest; 0 means 100
}

// Revisions is a list of versions, newest first.
type Revisions struct {
	V         int        `json:"v"`
	Revisions []Revision `json:"revisions"`
}

// OneRevision is one version with its text.
type OneRevision struct {
	V int `json:"v"`
	Revision
}
