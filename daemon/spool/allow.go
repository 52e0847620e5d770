package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
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
		return &BarredError{name, p.Allow + " cannot be read: " + Reason(err)}
	}
	denied, err := listed(p.Deny, name)
	switch {
	case err == nil && !denied:
		return nil
	case err == nil:
		return &BarredError{name, "it is in " + p.Deny}
	case !errors.Is(err, fs.ErrNotExist):
		return &BarredError{name, p.Deny + " cannot be read: " + Reason(err)}
	case family == crontab.RHEL:
		return &BarredError{name, "there is neither " + p.Allow + " nor " + p.Deny + ", and then only root may"}
	}
	return nil
}

// listed reports whether a line of the file is exactly the name: the lists have no comments and no
// patterns, and spaces count.
func listed(path, name string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return false, err
	} else if !info.Mode().IsRegular() {
		return false, errors.New("it is not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, crontab.MaxText+1))
	if err != nil {
		return false, err
	}
	if len(text) > crontab.MaxText {
		return false, fmt.Errorf("it has more than %d bytes", crontab.MaxText)
	}
	return slices.Contains(strings.Split(string(text), "\n"), name), nil
}
