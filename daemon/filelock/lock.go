package filelock

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lastFork is how long a lock may outlive its process.
const lastFork = 10 * time.Second

// Lock takes a lock on a file that begins with the PID of the last holder, with a function that does
// not wait. If a daemon is killed just when it forks, the new process holds its locks until it
// executes its program. Therefore Lock tries again for some time if the last holder is gone.
func Lock(f *os.File, take func() error) error {
	err := take()
	for end := time.Now().Add(lastFork); isHeld(err) && isDead(readPID(f)) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		err = take()
	}
	return err
}

func isHeld(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) }

// isDead reports whether there is no such process.
func isDead(pid int) bool { return pid != 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// readPID reads the number from the start of the lock's file; 0 is unknown.
func readPID(f *os.File) int {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
