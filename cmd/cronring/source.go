package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

// source is one crontab file as read from disk.
type source struct {
	name string // as given; "-" is stdin
	text string
}

// formatFlags are the flags that say how a crontab file is to be read.
type formatFlags struct {
	system bool
}

func (f *formatFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.system, "system", false, "the lines have a column for the account (/etc/crontab and /etc/cron.d/* always do)")
}

func (a *app) read(name string) (source, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(a.in)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return source{}, fileError(name, err)
	}
	return source{name, string(text)}, nil
}

// fileError gives trouble with a file its exit code.
func fileError(name string, err error) error {
	e := &api.Error{What: fmt.Sprintf("cannot read %q", name), Why: err.Error(), Kind: api.Internal}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		e.Why = p.Err.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = api.NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = api.NotAllowed
	}
	return e
}

// parse reads a source in the zone loc.
func (f *formatFlags) parse(s source, loc *time.Location) (*crontab.Table, []crontab.Diagnostic) {
	c := crontab.Config{
		Format: crontab.User, Family: hostFamily(), Owner: ownName(), Privileged: os.Geteuid() == 0,
		Local: loc, Zone: loadZone,
	}
	if f.system || isSystemTable(s.name) {
		c.Format, c.Privileged = crontab.System, true
	}
	return crontab.Parse(s.name, s.text, c)
}

// isSystemTable reports whether cron itself would read the file with a column
// for the account.
func isSystemTable(name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && name != "-" && (path == "/etc/crontab" || filepath.Dir(path) == "/etc/cron.d")
}

// hostFamily tells which cron's defaults hold here.
func hostFamily() crontab.Family {
	if _, err := os.Stat("/etc/redhat-release"); err == nil {
		return crontab.RHEL
	}
	return crontab.Debian
}

// ownName is the account that a user's crontab is read for.
func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}
