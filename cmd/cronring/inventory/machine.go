package inventory

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/hostprogram"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
)

// Exec runs a program of the host and returns its standard output and exit status. The
// error means that it could not run.
type Exec func(ctx context.Context, argv ...string) (stdout string, status int, err error)

// Machine is the host that doctor and import examine: its files below Root, and the
// answers of its programs.
type Machine struct {
	Root string // put before each path: "" for the machine itself
	Host spool.Host
	Exec Exec
	Now  func() time.Time

	Find   func(ctx context.Context, name string) (account.Account, error)
	Refuse func(a account.Account, now time.Time) string // why no job may run as an account, or ""
	Pam    func(crontab.Family) account.PAM
}

// This is the host that this program runs on.
func This(now func() time.Time) *Machine {
	run := func(ctx context.Context, argv ...string) ([]byte, int, error) {
		out, status, err := Run(ctx, argv...)
		return []byte(out), status, err
	}
	accounts := account.New(account.Options{Exec: run})
	return &Machine{Host: config.ThisHost(), Exec: Run, Now: now, Find: accounts.Find, Refuse: accounts.Refusal, Pam: accounts.PAM}
}

// At is a host whose root is mounted at a directory. It does not run, so
// its programs cannot be asked, and only its files know accounts.
func At(root string, now func() time.Time) *Machine {
	accounts := account.New(account.Options{Root: root})
	m := &Machine{
		Root: root, Now: now, Find: accounts.Find, Refuse: accounts.Refusal, Pam: accounts.PAM,
		Exec: func(context.Context, ...string) (string, int, error) { return "", 0, ErrNotRunning },
	}
	m.Host = spool.Host{Family: crontab.Debian, Zone: time.UTC, Account: "root", Root: true}
	if m.Exists("/etc/redhat-release") {
		m.Host.Family = crontab.RHEL
	}
	target, _ := os.Readlink(m.Path("/etc/localtime"))
	if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
		if loc, err := spool.LoadZone(name); err == nil {
			m.Host.Zone = loc
		}
	}
	return m
}

// ErrNotRunning is returned for programs of a host that is only a directory.
var ErrNotRunning = errors.New("the host does not run")

// Barred returns why no job of a user starts now: the user does not exist, or has expired.
// If a directory service does not answer, no user is barred.
func (m *Machine) Barred(ctx context.Context, name string) (job.Reason, string) {
	a, err := m.Find(ctx, name)
	if account.IsUnknown(err) {
		return job.NoUser, "user " + name + " does not exist"
	}
	if err != nil {
		return "", ""
	}
	if why := m.Refuse(a, m.Now()); why != "" {
		return job.AccountRefused, "the account " + name + " may not run jobs: " + why
	}
	return "", ""
}

// patience limits how long a program of the host may take. If a directory service or D-Bus
// hangs, that is a finding, and doctor itself must not hang.
const patience = 20 * time.Second

// maxAnswer bounds what is kept of a program's output.
const maxAnswer = 64 << 20

// Run runs a program of this host, with a time limit and without localisation.
func Run(ctx context.Context, argv ...string) (string, int, error) {
	out, status, err := hostprogram.Run(ctx, hostprogram.Limits{Time: patience, Output: maxAnswer}, argv...)
	return string(out), status, err
}

// Path returns where a file of the host is in this file system.
func (m *Machine) Path(name string) string { return filepath.Join(m.Root, name) }

// HostPath returns the path that a found file has on the host.
func (m *Machine) HostPath(path string) string {
	if m.Root == "" {
		return path
	}
	return "/" + strings.TrimPrefix(strings.TrimPrefix(path, m.Root), "/")
}

// Paths returns the paths of the host's crontabs.
func (m *Machine) Paths() spool.Paths { return m.Host.Paths(m.Root) }

// maxSettings limits how much of a configuration file or kernel file is read.
const maxSettings = 1 << 20

// Read returns the text of a small file that is not a crontab.
func (m *Machine) Read(name string) (string, error) { return m.readUpTo(name, maxSettings) }

func (m *Machine) readUpTo(name string, most int64) (string, error) {
	f, err := m.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// Open opens a file of the host. It does not block on a FIFO, and symbolic links cannot
// lead out of Root.
func (m *Machine) Open(name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if m.Root == "" {
		return os.OpenFile(name, flags, 0)
	}
	return openBelow(m.Root, name, flags)
}

// Exists reports whether there is such a file.
func (m *Machine) Exists(name string) bool {
	_, err := os.Stat(m.Path(name))
	return err == nil
}

// Booted reports whether systemd runs the host: the test of sd_booted(3).
func (m *Machine) Booted() bool { return m.Exists("/run/systemd/system") }

// Crontab is one crontab of the host, as far as it may be read and trusted.
type Crontab struct {
	Path        string // its path on the host
	Refused     string // cron's word for a crontab that does not count, or ""
	Why         string // it is refused or ignored
	Fix         string
	Denied      bool // refused as this process may not read it
	Ignored     bool // its name is none that cron reads
	Text        string
	File        *crontab.File
	Diagnostics []crontab.Diagnostic
}

// Counts reports whether the crontab's good lines run.
func (t *Crontab) Counts() bool { return t.File != nil }

// entries returns how many lines of the crontab cron runs.
func (t *Crontab) entries() int {
	if !t.Counts() || t.Anacron() {
		return 0
	}
	return len(t.File.Entries)
}

// CountEntries returns how many lines of all crontabs run.
func CountEntries(crontabs []Crontab) int {
	n := 0
	for i := range crontabs {
		n += crontabs[i].entries()
	}
	return n
}

// AnacronInstalled reports whether anacron itself does its jobs here.
func (m *Machine) AnacronInstalled() bool { return m.Paths().AnacronInstalled() }
