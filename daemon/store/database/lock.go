package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/holder"
)

// lockDir makes DIR and takes DIR/lock for this process. The kernel releases the lock when the
// process ends: what it starts does not inherit it. The number in the file is only
// for people.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	if err := takeLock(f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lastFork is how long a lock may outlive its process. If a daemon is killed just when it forks,
// the new process holds the lock until it executes its program.
const lastFork = 2 * time.Second

func takeLock(f *os.File, dir string) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for end := time.Now().Add(lastFork); errors.Is(err, unix.EWOULDBLOCK) && gone(readPID(f)) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		locked := &LockedError{Dir: dir}
		if who, ok := holder.Of(f); ok {
			locked.Holder = &who
		}
		return locked
	}
	if err != nil {
		return fmt.Errorf("lock state directory %s: %w", dir, err)
	}
	// A full disk must not keep the daemon from starting for want of a number.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return nil
}

// gone reports whether there is no such process.
func gone(pid int) bool { return pid != 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// readPID reads the number from the start of the lock's file; 0 is unknown.
func readPID(f *os.File) int {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// LockedError reports that another daemon uses the directory.
type LockedError struct {
	Dir    string
	Holder *holder.Process // nil: unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Holder != nil {
		who = e.Holder.String()
	}
	return fmt.Sprintf("state directory %s is in use by %s; stop that daemon or choose another directory", e.Dir, who)
}
