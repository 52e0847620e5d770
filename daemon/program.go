package daemon

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/groups"
	"github.com/cronring/cronring/daemon/pamsession"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/proc"
)

// openGroups looks at the host's control groups.
func (d *shared) openGroups() (err error) {
	var path string
	if hasSystemd() {
		if path, err = program(); err != nil {
			return fmt.Errorf("find our own program: %w", err)
		}
	}
	d.groups, err = groups.Open(stateName(d.options.State), path)
	return err
}

// openSessions prepares sessions, unless the configuration excludes them. A
// daemon that is not root runs its own user's jobs only, which need none.
func (d *shared) openSessions(before []handed.Run) error {
	mode := d.options.Config.Session
	if mode == config.SessionNone || os.Geteuid() != 0 || mode == config.SessionAuto && !d.options.host() {
		return nil
	}
	path, err := program()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	d.sessions = pamsession.New(pamsession.Options{
		Program: path, Always: mode == config.SessionPAM,
		PAM:     func() account.PAM { return d.accounts.PAM(d.options.Family) },
		Systemd: hasSystemd(), Family: d.options.Family, Runs: d.runs,
		Missing: d.groups.Missing, Log: d.log,
	})
	d.sessions.Recognize(before)
	return nil
}

// stateName distinguishes daemons of one host.
func stateName(state string) string {
	path, err := filepath.Abs(state)
	if err != nil {
		path = state
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(path)) // it never fails
	return fmt.Sprintf("%08x", h.Sum32())
}

// hasSystemd reports whether systemd runs here and accepts our requests.
func hasSystemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil && os.Geteuid() == 0
}

// program is the path of the daemon's program as it was started, and where an
// upgrade puts the next one. The kernel marks it when that has happened.
func program() (string, error) {
	path, err := os.Executable()
	const gone = " (deleted)"
	if n := len(path) - len(gone); n > 0 && path[n:] == gone {
		path = path[:n]
	}
	return path, err
}

// bootID identifies a start of the system. In a container the kernel's id is the host's, so it
// includes the start time of process 1: when that changes, the system is new.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)) + "/" + proc.StartTicks(1)
}

// startOf is the time since boot at which a process started; now when it has
// ended already.
func startOf(pid int, now time.Duration) time.Duration {
	up, ok := proc.StartOf(pid)
	if !ok {
		return now
	}
	return min(now, up)
}
