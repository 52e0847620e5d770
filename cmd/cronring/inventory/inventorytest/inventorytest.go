// Package inventorytest owns directories that stand for hosts in tests, with files of which some are
// hostile.
package inventorytest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/spool"
)

// Files is the files of a host: text by path. A text that begins with "-> " is
// a link; a path that ends with / is a directory.
type Files map[string]string

// Plant creates a tree in a new directory. User crontabs get the mode that crontab(1)
// sets.
func Plant(t *testing.T, files ...Files) string {
	t.Helper()
	root := t.TempDir()
	for _, set := range files {
		for name, text := range set {
			path := filepath.Join(root, name)
			mode := os.FileMode(0o644)
			if strings.HasPrefix(name, "/var/spool/cron/") {
				mode = 0o600
			}
			target, isLink := strings.CutPrefix(text, "-> ")
			err := os.MkdirAll(filepath.Dir(path), 0o755)
			switch {
			case err != nil:
			case strings.HasSuffix(name, "/"):
				err = os.MkdirAll(path, 0o755)
			case isLink:
				err = os.Symlink(target, path)
			default:
				err = os.WriteFile(path, []byte(text), mode)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// NeedRoot skips where crontabs of the system would not be trusted, as their
// owner is not root.
func NeedRoot(t *testing.T) {
	t.Helper()
	hosttest.Root(t, "needs root, as only root's crontabs count")
}

// Noon is the present of the hosts in tests.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Machine returns a host at noon with a few users. Programs fail unless the test sets
// Exec.
func Machine(t *testing.T, root string, family crontab.Family, zone string) *inventory.Machine {
	t.Helper()
	loc, err := spool.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TZ", zone)
	accounts := map[string]uint32{"root": 0, "ann": 1000, "bob": 1001, "logcheck": 110, "munin": 111, "list": 38, "eve": 1002}
	return &inventory.Machine{
		Root: root, Now: func() time.Time { return Noon },
		Host: spool.Host{Family: family, Zone: loc, Account: "root", Root: true},
		Exec: func(context.Context, ...string) (string, int, error) { return "", 0, inventory.ErrNotRunning },
		Pam:  account.New(account.Options{Root: root}).PAM,
		Refuse: func(a account.Account, _ time.Time) string {
			if a.Name == "eve" {
				return "account expired on 2026-01-01"
			}
			return ""
		},
		Find: func(_ context.Context, name string) (account.Account, error) {
			uid, ok := accounts[name]
			if !ok {
				return account.Account{}, &account.UnknownError{Name: name}
			}
			return account.Account{Name: name, UID: uid, GID: uid}, nil
		},
	}
}

// evil would steer a terminal.
const evil = "\x1b]0;title\x07\x1b[2J"

// Hostile is a host that has such text in every place.
var Hostile = Files{
	"/etc/crontab":                                "0 4 * * * root echo " + evil + "\n",
	"/etc/cron.d/a" + evil:                        "0 4 * * * root true\n",
	"/etc/cron.daily/b" + evil:                    "#!/bin/sh\n",
	"/var/spool/cron/crontabs/" + evil:            "0 4 * * * true\n",
	"/etc/default/cron":                           "EXTRA_OPTS='-" + evil + "'\nX=" + evil + "\n",
	"/etc/anacrontab":                             "1 5 id" + evil + " true\n",
	"/usr/lib/systemd/system/c" + evil + ".timer": "[Timer]\nOnCalendar=daily" + evil + "\n",
	"/usr/lib/systemd/system/d.timer":             "[Timer]\nOnCalendar=daily\nUnit=e" + evil + "\n",
}

// Spoken runs f with an app whose streams are files.
func Spoken(t *testing.T, f func(a *cli.App) error) (stdout, stderr string, err error) {
	t.Helper()
	dir := t.TempDir()
	out, e1 := os.Create(filepath.Join(dir, "out"))
	messages, e2 := os.Create(filepath.Join(dir, "err"))
	if e1 != nil || e2 != nil {
		t.Fatal(e1, e2)
	}
	defer out.Close()
	defer messages.Close()
	t.Setenv("LC_ALL", "C.UTF-8")
	a := cli.New(strings.NewReader(""), out, messages)
	a.Now = func() time.Time { return Noon }
	err = f(a)
	if e := a.Out.Flush(); e != nil {
		t.Fatal(e)
	}
	return clitest.Contents(t, out), clitest.Contents(t, messages), err
}
