package api

import (
	"context"
	"net/url"
	"time"
)

// Edited reports the end of an edit of a user's crontab.
type Edited struct {
	V    int    `json:"v,omitempty"`
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

// Revisions returns the versions of crontabs that q selects, newest first.
func (c *Client) Revisions(ctx context.Context, q RevisionQuery) ([]Revision, error) {
	v := url.Values{}
	setText(v, "file", q.File)
	setText(v, "user", q.User)
	setNumber(v, "before", q.Before)
	setNumber(v, "limit", int64(q.Limit))
	r, err := get[Revisions](ctx, c, "list revisions", "/v1/revisions", v)
	return r.Revisions, err
}

// Revision returns one version of a crontab, with its text.
func (c *Client) Revision(ctx context.Context, id int64) (Revision, error) {
	v := url.Values{}
	setNumber(v, "revision", id)
	r, err := get[OneRevision](ctx, c, "read a revision", "/v1/revision", v)
	return r.Revision, err
}

// Undo restores a version of a table.
func (c *Client) Undo(ctx context.Context, r UndoRequest) (Installed, error) {
	return post[Installed](ctx, c, "undo", "/v1/undo", r)
}
