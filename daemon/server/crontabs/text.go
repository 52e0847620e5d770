package crontabs

import (
	"errors"
	"io/fs"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/spool"
)

// installed is a crontab as it is on disk.
type installed struct {
	missing bool
	raw     string
	body    string // what its owner wrote
}

// sum returns the checksum of a version of a crontab.
func (t installed) sum() string {
	if t.missing {
		return spool.NoCrontab
	}
	return spool.Sum(t.body)
}

// see reads the crontab at a place; a missing one is not an error.
func (ed *Editor) see(p place) (t installed, err error) {
	if p.user {
		t.raw, err = ed.readUsers(p.who)
		if errors.Is(err, fs.ErrNotExist) {
			t.missing, err = true, nil
		}
		t.body = ed.Paths.Body(p.path, t.raw)
		return t, err
	}
	t.raw, err = atomicfile.ReadRegular(p.path, crontab.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		t.missing, err = true, nil
	}
	t.body = t.raw
	return t, err
}

// Errors for changes that are refused.
var (
	errNotUsers = errors.New("without cronringd only users' crontabs are changed, by crontab(1)") // another cron runs the others
	errByName   = errors.New("this daemon was given the file by name, and needs it")
)

func (ed *Editor) readUsers(who account.Account) (string, error) {
	if ed.Foreign != nil {
		return ed.Foreign.ReadCrontab(who)
	}
	return ed.Paths.ReadCrontab(who)
}

// write puts a text in a place, or takes away what is there.
func (ed *Editor) write(p place, text string, gone bool) error {
	switch {
	case ed.Foreign != nil && p.user:
		return ed.Foreign.WriteCrontab(p.who, text, gone)
	case ed.Foreign != nil:
		return errNotUsers
	case len(ed.Files) > 0 && gone:
		return errByName
	case len(ed.Files) > 0:
		return spool.Overwrite(p.path, text)
	case p.user && gone:
		return spool.Remove(ed.Paths, p.who)
	case p.user:
		return spool.Install(ed.Paths, p.who, text)
	case !gone:
		return spool.Restore(ed.Paths, p.path, text)
	}
	err := spool.Withdraw(ed.Paths, p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// addHeader puts the header above a user's crontab, where the family has one. source is where the text
// comes from.
func (ed *Editor) addHeader(p place, source, text string, now time.Time) string {
	if !p.user || !ed.Paths.Header || ed.Foreign != nil { // crontab(1) adds its own
		return text
	}
	return spool.Header(source, now.In(ed.zone()), ed.Version) + text
}

func (ed *Editor) zone() *time.Location {
	if ed.Host.Zone == nil {
		return time.UTC
	}
	return ed.Host.Zone
}
