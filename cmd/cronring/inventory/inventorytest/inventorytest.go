// Package inventorytest owns hosts for tests: directories with the files of a Debian or
// Red Hat host, and with hostile ones.
package inventorytest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
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

// real is a table as a package ships it.
func real(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../testdata/crontab/real/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// NeedRoot skips where tables of the system would not be trusted, as their
// owner is not root.
func NeedRoot(t *testing.T) {
	t.Helper()
	hosttest.Root(t, "needs root, as only root's tables count")
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

// Debian is a stock host with ten packages that bring tables, three users, and
// one file of each kind that is not read.
func Debian(t *testing.T) Files {
	t.Helper()
	files := Files{
		"/etc/localtime":             "-> /usr/share/zoneinfo/Europe/Berlin",
		"/etc/crontab":               real(t, "debian-crontab"),
		"/etc/cron.d/cron-apt":       "#\n# Regular cron jobs for the cron-apt package\n#\n# Every night at 4 o'clock.\n0 4\t* * *\troot\ttest -x /usr/sbin/cron-apt && /usr/sbin/cron-apt\n",
		"/etc/cron.d/backup.sh":      "0 5 * * * root backup\n",
		"/etc/cron.d/.placeholder":   "# DO NOT EDIT OR REMOVE\n",
		"/etc/cron.d/stranger":       "0 5 * * * nobodyhere true\n5 5 * * * root true\n6 5 * * * eve true\n",
		"/etc/cron.daily/apt-compat": "#!/bin/sh\n", "/etc/cron.daily/report.sh": "#!/bin/sh\n",
		"/etc/default/cron": "# Cron configuration options\nREAD_ENV=\"yes\"\n#EXTRA_OPTS=\"\"\nEXTRA_OPTS='-L 5 -n'\n",
		"/etc/anacrontab": "SHELL=/bin/sh\nHOME=/root\nLOGNAME=root\n\n1\t5\tcron.daily\trun-parts --report /etc/cron.daily\n" +
			"7\t10\tcron.weekly\trun-parts --report /etc/cron.weekly\n@monthly\t15\tcron.monthly\trun-parts --report /etc/cron.monthly\n",
		"/var/spool/anacron/cron.daily":  "20261121\n",
		"/var/spool/anacron/cron.weekly": "20261101\n",
		"/var/spool/cron/crontabs/root":  "@reboot /usr/local/sbin/firewall\n",
		"/var/spool/cron/crontabs/ann": "CRON_TZ=America/New_York\n30 2 * * * backup\nCRON_TZ=\n0-59/20 2 * * 6-0 sed 's/\\\\/x/' <in\n" +
			"0~30 4 * * * spread\n1,3 5* * * * junk\n#@ catchup=once\n-15 6 * * * late\n",
		"/var/spool/cron/crontabs/bob":                            "0 4 * * * date +\\%F\n61 * * * * broken\n0 4 * * * date +\\%F\n",
		"/var/spool/cron/crontabs/ghost":                          "* * * * * boo\n",
		"/usr/lib/systemd/system/logrotate.timer":                 "[Unit]\nDescription=Daily rotation of log files\n\n[Timer]\nOnCalendar=daily\nAccuracySec=1h\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
		"/usr/lib/systemd/system/logrotate.service":               "[Unit]\nDescription=Rotate log files\n[Service]\nType=oneshot\nExecStart=/usr/sbin/logrotate /etc/logrotate.conf\nNice=19\n",
		"/etc/systemd/system/timers.target.wants/logrotate.timer": "-> /usr/lib/systemd/system/logrotate.timer",
	}
	for _, name := range []string{"anacron", "certbot", "e2scrub_all", "logcheck", "mdadm", "munin-node", "php", "popularity-contest", "sysstat"} {
		files["/etc/cron.d/"+name] = real(t, name)
	}
	return files
}

// Rhel returns the files of a stock Red Hat host.
func Rhel(t *testing.T) Files {
	t.Helper()
	return Files{
		"/etc/redhat-release":     "Red Hat Enterprise Linux release 9.4 (Plow)\n",
		"/etc/localtime":          "-> /usr/share/zoneinfo/America/New_York",
		"/etc/crontab":            real(t, "rhel-crontab"),
		"/etc/cron.d/0hourly":     real(t, "rhel-0hourly"),
		"/etc/cron.d/old.rpmsave": "* * * * * root true\n",
		"/etc/cron.d/junk":        "5# * * * * root true\n0 3 * * * root true\n",
		"/etc/sysconfig/crond":    "# Settings for the CRON daemon.\n# CRONDARGS= :  any extra command-line startup arguments for crond\nCRONDARGS=\"-s -m off -c\"\nMAILFROM=cron@example.org\n",
		"/etc/anacrontab": "SHELL=/bin/sh\nPATH=/sbin:/bin:/usr/sbin:/usr/bin\nMAILTO=root\nRANDOM_DELAY=45\nSTART_HOURS_RANGE=3-22\n" +
			"1\t5\tcron.daily\t\tnice run-parts /etc/cron.daily\n7\t25\tcron.weekly\t\tnice run-parts /etc/cron.weekly\n@monthly 45\tcron.monthly\t\tnice run-parts /etc/cron.monthly\n",
		"/var/spool/cron/ann": "30 2,3 * * * backup\n",
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

// Golden compares text with a file of testdata/import, or writes that with
// UPDATE_SCRIPTS=1.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("../../../testdata/import", name)
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		filetest.Write(t, path, got, 0o644)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
