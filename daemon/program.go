package daemon

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/daemon/groups"
)

// openGroups looks at the host's control groups.
func (l *loop) openGroups() (err error) {
	var path string
	if hasSystemd() {
		if path, err = program(); err != nil {
			return fmt.Errorf("find our own program: %w", err)
		}
	}
	l.groups, err = groups.Open(stateName(l.options.State), path)
	return err
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
