package api

import (
	"bytes"
	"context"
	"net/url"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// CrontabFile is one crontab file that the daemon reads, or would read if it existed.
type CrontabFile struct {
	File     string    `json:"file"`
	User     string    `json:"user,omitempty"`     // whose crontab it is; "" for others
	Missing  bool      `json:"missing,omitempty"`  // there is none yet
	Owner    string    `json:"owner,omitempty"`    // of the file
	Mode     uint32    `json:"mode,omitempty"`     // its permissions: 0o644
	Entries  int       `json:"entries"`            // that count
	Errors   int       `json:"errors,omitempty"`   // diagnostics of its lines
	Warnings int       `json:"warnings,omitempty"` // likewise
	Revision int64     `json:"revision,omitempty"` // of its content; 0: none is kept
	Changed  time.Time `json:"changed,omitzero"`   // the time of that revision
	By       string    `json:"by,omitempty"`       // who wrote it, when that is known
	Refused  string    `json:"refused,omitempty"`  // why it is not read
	Fix      string    `json:"fix,omitempty"`      // of what it is refused for
}

// CrontabFiles is the crontab files that the caller may read and change.
type CrontabFiles struct {
	V        int           `json:"v"`
	Crontabs []CrontabFile `json:"crontabs"`
	Places   *Places       `json:"places,omitempty"` // nil: the daemon was given its files by name
}

// Places are the paths of a host's system crontabs.
type Places struct {
	Crontab    string `json:"crontab"`
	Anacrontab string `json:"anacrontab"`
	CronD      string `json:"cron_d"` // a directory
}

// CrontabText is a crontab file with its text, and how to parse it.
type CrontabText struct {
	V int `json:"v"`
	CrontabFile
	Text       []byte `json:"text,omitempty"`
	Sum        string `json:"sum"`              // for CrontabFileRequest.Base
	Header     []byte `json:"header,omitempty"` // the lines above the text, which crontab(1) itself wrote
	Format     string `json:"format"`           // FormatUser and so on
	Family     string `json:"family"`           // of the host: FamilyDebian, FamilyRHEL
	Account    string `json:"default_user"`     // of entries that name none
	Privileged bool   `json:"privileged,omitempty"`
	Zone       string `json:"zone"` // of the host
	StandsIn   bool   `json:"stands_in,omitempty"`
	MaxEntries int    `json:"max_entries,omitempty"` // see crontab.Config

	Calendars map[string]Calendar `json:"calendars,omitempty"` // that entries may name
	Blackouts []Blackout          `json:"blackouts,omitempty"` // of the host
}

// The formats of crontab files.
const (
	FormatUser    = "user"
	FormatSystem  = "system" // with a column for the account
	FormatAnacron = "anacron"
)

var formats = map[string]crontab.Format{FormatUser: crontab.User, FormatSystem: crontab.System, FormatAnacron: crontab.Anacron}

// The families of hosts.
const (
	FamilyDebian = "debian"
	FamilyRHEL   = "rhel"
)

// FormatOf is the written form of a format.
func FormatOf(f crontab.Format) string {
	return [...]string{FormatUser, FormatSystem, FormatAnacron}[f]
}

// FamilyOf is the written form of a family.
func FamilyOf(f crontab.Family) string { return [...]string{FamilyDebian, FamilyRHEL}[f] }

// Above returns how many lines of the file are above the text.
func (t *CrontabText) Above() int { return bytes.Count(t.Header, []byte("\n")) }

// Config returns how to parse the text. zone finds the zones that it names.
func (t *CrontabText) Config(zone func(string) (*time.Location, error)) crontab.Config {
	c := crontab.Config{
		Format: formats[t.Format], Owner: t.Account, Privileged: t.Privileged, Zone: zone, StandIn: t.StandsIn,
		MaxEntries: t.MaxEntries, Calendars: map[string]timetable.Calendar{},
	}
	if t.Family == FamilyRHEL {
		c.Family = crontab.RHEL
	}
	for name, calendar := range t.Calendars {
		c.Calendars[name] = calendar.read(name)
	}
	local, err := zone(t.Zone)
	if err != nil {
		local = time.Local // the host's has no name
	}
	c.Local = local
	return c
}

// CrontabFileRequest replaces the text of a crontab file, or removes it.
type CrontabFileRequest struct {
	File   string `json:"file,omitempty" max:"4096"` // its absolute path, as in CrontabFile
	User   string `json:"user,omitempty"`            // instead: the user's own crontab; with neither the caller's
	Text   []byte `json:"text,omitempty"`
	Gone   bool   `json:"-"`                           // remove it: a request of its own
	Base   string `json:"base,omitempty"`              // refuse unless the file has this checksum; "": any content
	Verb   string `json:"verb,omitempty"`              // what the user did, for the audit log: one of FileVerbs; "": edited the text
	Source string `json:"source,omitempty" max:"4096"` // where the text comes from, for diagnostics and the header; "": File
	Strict bool   `json:"strict,omitempty"`            // as crontab(1): refuse all errors; without Base, replace or remove a user's crontab that cannot be read
}

// FileVerbs are the commands that change parts of a crontab file.
var FileVerbs = []string{"add", "set", "rm", "apply"}

// CrontabFiles returns the crontab files that the caller may read and change.
func (c *Client) CrontabFiles(ctx context.Context) ([]CrontabFile, error) {
	t, err := c.allCrontabFiles(ctx)
	return t.Crontabs, err
}

func (c *Client) allCrontabFiles(ctx context.Context) (CrontabFiles, error) {
	return get[CrontabFiles](ctx, c, "list crontabs", "/v1/crontabs", nil)
}

// Places returns the paths of the system crontabs on the daemon's host. It returns nil if the
// daemon was started with files by name, or is too old to report them.
func (c *Client) Places(ctx context.Context) (*Places, error) {
	t, err := c.allCrontabFiles(ctx)
	return t.Places, err
}

// CrontabText returns a crontab file with its text: by path, or a user's own crontab. Without either it
// returns the caller's own.
func (c *Client) CrontabText(ctx context.Context, file, user string) (CrontabText, error) {
	return c.crontabText(ctx, file, user, "")
}

// The words for cron's log about a user who reads a crontab.
const (
	LogList = "LIST"
	LogEdit = "BEGIN EDIT"
)

// UserCrontab returns the crontab of a user; "" is the caller. It is logged with word: LogList or LogEdit.
func (c *Client) UserCrontab(ctx context.Context, user, word string) (CrontabText, error) {
	return c.crontabText(ctx, "", user, word)
}

func (c *Client) crontabText(ctx context.Context, file, user, word string) (CrontabText, error) {
	v := url.Values{}
	setText(v, "file", file)
	setText(v, "user", user)
	setText(v, "log", word)
	return get[CrontabText](ctx, c, "read the crontab", "/v1/crontab", v)
}

// EndEdit logs the end of an edit of a user's crontab, whatever its result.
func (c *Client) EndEdit(ctx context.Context, user string) error {
	_, err := post[Edited](ctx, c, "end the edit", "/v1/crontab/edited", Edited{User: user})
	return err
}

// InstallCrontabFile replaces or removes a crontab file. It returns when the daemon has loaded it.
func (c *Client) InstallCrontabFile(ctx context.Context, r CrontabFileRequest) (Installed, error) {
	path := "/v1/crontab/install"
	if r.Gone {
		path = "/v1/crontab/remove"
	}
	return post[Installed](ctx, c, "change the crontab", path, r)
}
