package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filelock"
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

func takeLock(f *os.File, dir string) error {
	err := filelock.Lock(f, func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		locked := &LockedError{Dir: dir}
		if who, ok := filelock.Of(f); ok {
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

// LockedError reports that another daemon uses the directory.
type LockedError struct {
	Dir    string
	Holder *filelock.Process // nil: unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Holder != nil {
		who = e.Holder.String()
	}
	return fmt.Sprintf("state directory %s is in use by %s; stop that daemon or choose another directory", e.Dir, who)
}
