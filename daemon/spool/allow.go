package spool

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/atomicfile"
)

// BarredError reports that cron.allow or cron.deny prevents a user from using crontab(1).
type BarredError struct {
	Name string // the user that was looked up
	Why  string // the list that decided
}

func (e *BarredError) Error() string {
	return "crontab is not allowed for " + quoted(e.Name) + ": " + e.Why
}

// MayUse returns nil if caller may use crontab(1) on the crontab of target, else a *BarredError.
// Root always may. Debian's cron looks up the target, also for root, and allows all users if there
// is no list; cronie looks up the caller and then allows only root.
func (p Paths) MayUse(family crontab.Family, caller, target string) error {
	name := target
	if family == crontab.RHEL {
		name = caller
	}
	if name == "root" {
		return nil
	}
	allowed, err := listed(p.Allow, name)
	switch {
	case err == nil && allowed:
		return nil
	case err == nil:
		return &BarredError{name, "it is not in " + p.Allow}
	case !errors.Is(err, fs.ErrNotExist):
		return &BarredError{name, p.Allow + " cannot be read: " + err.Error()}
	}
	denied, err := listed(p.Deny, name)
	switch {
	case err == nil && !denied:
		return nil
	case err == nil:
		return &BarredError{name, "it is in " + p.Deny}
	case !errors.Is(err, fs.ErrNotExist):
		return &BarredError{name, p.Deny + " cannot be read: " + err.Error()}
	case family == crontab.RHEL:
		return &BarredError{name, "there is neither " + p.Allow + " nor " + p.Deny + ", and then only root may"}
	}
	return nil
}

// listed reports whether a line of the file is exactly the name: the lists have no comments and no
// patterns, and spaces count.
func listed(path, name string) (bool, error) {
	text, err := atomicfile.ReadRegular(path, crontab.MaxText)
	return err == nil && slices.Contains(strings.Split(text, "\n"), name), err
}
