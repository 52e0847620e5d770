package crontabs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/revision"
)

// Options describe the crontabs that can be changed: the host's, or those that the daemon was
// given by name.
type Options struct {
	Host      spool.Host
	Paths     spool.Paths
	Accounts  spool.Accounts
	Revisions Revisions
	Version   string // for the header of crontabs
	LSBNames  bool   // names as Debian's cron takes them with -l

	// MaxEntries returns the maximum number of entries of a user's crontab; 0 means no limit. nil:
	// no limit exists.
	MaxEntries func() int

	// Calendars returns the calendars of the configuration. nil: there are none.
	Calendars func() map[string]timetable.Calendar

	// Blackouts returns the blackouts of the host. nil: there are none.
	Blackouts func() timetable.Blackouts

	// Files are the crontabs that the daemon was given by name instead of the host's. System means
	// that they have a user column.
	Files  []string
	System bool

	// Foreign reads and writes users' crontabs while another cron runs them; other crontabs cannot be
	// changed then. nil: they are the daemon's.
	Foreign Foreign

	// Note writes a line of cron's log: crontab[PID]: (WHO) WORD (TEXT). pid
	// is the caller's, 0 when it is in another name space. nil: no log.
	Note func(pid int, who, word, text string)
}

// Foreign reads and writes users' crontabs with the means of another cron, such as its crontab(1).
type Foreign interface {
	// ReadCrontab fails with fs.ErrNotExist if the user has none.
	ReadCrontab(who account.Account) (string, error)
	// WriteCrontab installs a crontab, or removes it if gone is true.
	WriteCrontab(who account.Account, text string, gone bool) error
}

// Revisions stores versions of crontabs, as revision.Archive does.
type Revisions interface {
	SaveRevision(ctx context.Context, r revision.Revision) (id int64, err error)
	Revision(ctx context.Context, id int64) (r revision.Revision, ok bool, err error)
	Revisions(ctx context.Context, f revision.Filter) ([]revision.Revision, error)
	NewestRevisions(ctx context.Context) (map[string]revision.Revision, error)
}

// Loader reads the crontabs for the daemon.
type Loader interface {
	// Reload reads all crontab files again.
	Reload(ctx context.Context) ([]crontab.Diagnostic, error)
	// Diagnostics are the diagnostics on the loaded crontabs.
	Diagnostics() []crontab.Diagnostic
	// Refused are the crontab files that are not read now.
	Refused() []spool.Refusal
}

// Editor shows and changes crontabs. It makes one change at a time, so that a file does not change
// between comparison and replacement.
type Editor struct {
	*Options // nil: no crontab can be changed
	loader   Loader
	account  func(uid uint32) (string, error) // the name of a user
	mu       sync.Mutex
	large    largeLimit
	changes  changeLimiters
	notes    noteLimiter
	reloads  sharedReload
}

// New returns an editor of the crontabs that o describes; nil means none.
func New(o *Options, l Loader, account func(uid uint32) (string, error)) *Editor {
	return &Editor{Options: o, loader: l, account: account, large: newLargeLimit()}
}

// checkUsers returns an error if the daemon has no users' crontabs.
func (ed *Editor) checkUsers() error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	if len(ed.Files) > 0 {
		return &api.Error{
			Kind: api.Conflict, What: "this daemon keeps no users' crontabs",
			Why: "it was given its files by name, and reads those alone",
			Fix: "edit the files and: cronring reload    or ask the host's daemon: systemctl start cronring",
		}
	}
	return nil
}

// checkAny returns an error if the daemon has no crontabs of any kind, as that of an invented host.
func (ed *Editor) checkAny() error {
	if ed.Options == nil {
		return &api.Error{Kind: api.Conflict, What: "this host is invented: it has jobs and runs, and no crontab files"}
	}
	return nil
}

// owner checks whether the caller may change the crontab of a user, and returns its place. "" is the
// caller.
func (ed *Editor) owner(ctx context.Context, c *call.Call, name string) (place, error) {
	if c.Peer.Name == "" {
		return place{}, &api.Error{
			Kind: api.NotAllowed, What: "crontab is not allowed for " + c.Peer.String(),
			Why: "no user of this host has that uid",
		}
	}
	if name == "" {
		name = c.Peer.Name
	}
	if !c.Peer.Admin && name != c.Peer.Name {
		return place{}, &api.Error{Kind: api.NotAllowed, What: "must be privileged to use -u", Why: "you are " + c.Peer.String()}
	}
	path, err := ed.Paths.UserCrontab(name)
	if err != nil {
		return place{}, unknownUser(name)
	}
	var who account.Account
	err = c.Await(ctx, func() (err error) { // for a directory service
		who, err = ed.Accounts.Find(ctx, name)
		return err
	})
	if account.IsUnknown(err) {
		return place{}, unknownUser(name)
	}
	if err != nil {
		return place{}, fmt.Errorf("find account: %w", err)
	}
	if !c.Peer.Admin && who.UID != c.Peer.UID {
		return place{}, &api.Error{
			Kind: api.NotAllowed, What: "crontab is not allowed for " + c.Peer.String(),
			Why: fmt.Sprintf("you are uid %d, but the user of that name is uid %d", c.Peer.UID, who.UID),
		}
	}
	return place{path, true, who}, ed.admit(ctx, c, name)
}

func unknownUser(name string) error {
	return &api.Error{Kind: api.NotFound, What: "user `" + name + "' unknown"}
}

// admit checks cron.allow and cron.deny, and returns the error message of the family's crontab(1).
func (ed *Editor) admit(ctx context.Context, c *call.Call, target string) error {
	caller := c.Peer.Name
	if c.Peer.Admin {
		caller = "root"
	}
	err := ed.Paths.MayUse(ed.Host.Family, caller, target)
	barred, ok := errors.AsType[*spool.BarredError](err)
	if !ok {
		return err
	}
	ed.noteAccess(ctx, c, "AUTH", "crontab command not allowed")
	e := &api.Error{
		Kind: api.NotAllowed, What: "You (" + c.Peer.Name + ") are not allowed to use this program (crontab)",
		Why: barred.Why, Fix: "See crontab(1) for more information",
	}
	if barred.Name != c.Peer.Name {
		e.What, e.Fix = "The user "+barred.Name+" cannot use this program (crontab)", ""
	}
	return e
}

// note writes a line of cron's log about the caller.
func (ed *Editor) note(ctx context.Context, c *call.Call, word, text string) {
	if ed.Note == nil {
		return
	}
	ed.Note(call.PIDOf(ctx), c.Peer.String(), word, text)
}

// noteAccess is note for a request that changes nothing, which a user can repeat as often as it
// likes.
func (ed *Editor) noteAccess(ctx context.Context, c *call.Call, word, text string) {
	if !c.Peer.Admin {
		switch n := ed.notes.count(c.Peer, c.Now); {
		case n == maxNotes+1:
			word, text = "INFO", "further LIST, EDIT and AUTH lines of this minute are left out"
		case n > maxNotes:
			return
		}
	}
	ed.note(ctx, c, word, text)
}

// Own returns the path of the peer's own crontab; "" if it has none here.
func (ed *Editor) Own(p call.Peer) string {
	if ed.Options == nil || len(ed.Files) > 0 {
		return ""
	}
	path, err := ed.Paths.UserCrontab(p.Name)
	if err != nil {
		return ""
	}
	return path
}

// Denied returns which requests of a user will be refused, as far as that is known without looking
// up the user again: the routes, placeOf and owner decide.
func (ed *Editor) Denied(p call.Peer) api.Denied {
	if p.Admin {
		return api.Denied{}
	}
	return api.Denied{
		Reload:  "only root and the daemon's own user may; you are " + p.String(),
		Entries: "its entry is not in your own crontab; you are " + p.String(),
		Crontab: ed.deniedCrontab(p),
	}
}

func (ed *Editor) deniedCrontab(p call.Peer) string {
	if p.Name == "" {
		return "crontab is not allowed for " + p.String() + ": the host has no user with that uid"
	}
	if ed.Own(p) == "" {
		return "this daemon keeps no crontab of yours; you are " + p.String()
	}
	err := ed.Paths.MayUse(ed.Host.Family, p.Name, p.Name)
	if barred, ok := errors.AsType[*spool.BarredError](err); ok {
		return "crontab is not allowed for " + p.String() + ": " + barred.Why
	}
	return ""
}
