package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
)

// execution runs a program of the host and gives what it printed on its
// standard output and its exit status. The error says that it could not run.
type execution func(ctx context.Context, argv ...string) (stdout string, status int, err error)

// machine is the host that doctor and import look at: its files below root,
// and what only its programs can tell.
type machine struct {
	root string // put before each path: "" for the machine itself
	host spool.Host
	exec execution
	now  func() time.Time

	find   func(ctx context.Context, name string) (account.Account, error)
	refuse func(a account.Account, now time.Time) string // why no job may run as an account, or ""
	pam    func(crontab.Family) account.PAM
}

func thisMachine(a *cli.App) *machine {
	run := func(ctx context.Context, argv ...string) ([]byte, int, error) {
		out, status, err := runProgram(ctx, argv...)
		return []byte(out), status, err
	}
	accounts := account.New(account.Options{Exec: run})
	return &machine{host: spool.ThisHost(), exec: runProgram, now: a.Now, find: accounts.Find, refuse: accounts.Refusal, pam: accounts.PAM}
}

// machineAt is a host whose root is mounted at a directory. It does not run, so
// its programs cannot be asked, and only its files know accounts.
func machineAt(root string, now func() time.Time) *machine {
	accounts := account.New(account.Options{Root: root})
	m := &machine{
		root: root, now: now, find: accounts.Find, refuse: accounts.Refusal, pam: accounts.PAM,
		exec: func(context.Context, ...string) (string, int, error) { return "", 0, errNotRunning },
	}
	m.host = spool.Host{Family: crontab.Debian, Zone: time.UTC, Account: "root", Root: true}
	if m.exists("/etc/redhat-release") {
		m.host.Family = crontab.RHEL
	}
	target, _ := os.Readlink(m.path("/etc/localtime"))
	if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
		if loc, err := spool.LoadZone(name); err == nil {
			m.host.Zone = loc
		}
	}
	return m
}

var errNotRunning = errors.New("the host does not run")

// barred is why nothing starts as an account now: it is not there, or expired.
// A directory service that does not answer bars nobody.
func (m *machine) barred(ctx context.Context, name string) (job.Reason, string) {
	a, err := m.find(ctx, name)
	if unknown(err) {
		return job.NoAccount, "there is no account " + name
	}
	if err != nil {
		return "", ""
	}
	if why := m.refuse(a, m.now()); why != "" {
		return job.AccountRefused, "the account " + name + " may not run jobs: " + why
	}
	return "", ""
}

// patience is how long a program of the host may take. A directory service or
// a D-Bus that hangs is a finding, not a reason to hang too.
const patience = 20 * time.Second

// maxAnswer bounds what is kept of a program's output.
const maxAnswer = 64 << 20

func runProgram(ctx context.Context, argv ...string) (string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0")
	cmd.WaitDelay = time.Second
	out := &bounded{room: maxAnswer}
	cmd.Stdout = out
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return out.text.String(), ended.ExitCode(), nil
	}
	return out.text.String(), 0, err
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	text strings.Builder
	room int
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := min(len(p), b.room)
	b.text.Write(p[:kept])
	b.room -= kept
	return len(p), nil
}

// path is where a file of the host is found.
func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

// shown is a found path as the host knows it.
func (m *machine) shown(path string) string {
	if m.root == "" {
		return path
	}
	return "/" + strings.TrimPrefix(strings.TrimPrefix(path, m.root), "/")
}

// places are those of the host's tables.
func (m *machine) places() spool.Places { return m.host.Places(m.root) }

// maxSettings is how much of a configuration file or of a file of the kernel
// is read.
const maxSettings = 1 << 20

// read gives the text of a small file that is not a crontab.
func (m *machine) read(name string) (string, error) { return m.readUpTo(name, maxSettings) }

func (m *machine) readUpTo(name string, most int64) (string, error) {
	f, err := m.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// open opens a file of the host. A FIFO that somebody put there does not make
// it wait, and links of a host in a directory lead nowhere but into that.
func (m *machine) open(name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if m.root == "" {
		return os.OpenFile(name, flags, 0)
	}
	root, err := unix.Open(m.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: m.root, Err: err}
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// exists reports whether there is such a file.
func (m *machine) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

// booted reports whether systemd runs the host: the test of sd_booted(3).
func (m *machine) booted() bool { return m.exists("/run/systemd/system") }

// reason is the part of an error that a person who knows the path needs.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// hostTable is one crontab of the host, as far as it may be read and trusted.
type hostTable struct {
	path    string // as the host knows it
	refused string // cron's word for a table that does not count, or ""
	why     string // it is refused or ignored
	fix     string
	denied  bool // refused as this process may not read it
	ignored bool // its name is none that cron reads
	text    string
	table   *crontab.Table
	remarks []crontab.Diagnostic
}

// counts reports whether the table's good lines run.
func (t *hostTable) counts() bool { return t.table != nil }

// entries is how many lines of the table cron runs.
func (t *hostTable) entries() int {
	if !t.counts() || t.anacron() {
		return 0
	}
	return len(t.table.Entries)
}

// countEntries is how many lines of all tables run.
func countEntries(tables []hostTable) int {
	n := 0
	for i := range tables {
		n += tables[i].entries()
	}
	return n
}

// anacronInstalled reports whether anacron itself does its jobs here.
func (m *machine) anacronInstalled() bool { return m.places().AnacronInstalled() }
