package spool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/timetable"
)

// ErrStampLocked reports that another process, such as anacron, runs the job.
var ErrStampLocked = errors.New("the job is locked by another anacron")

// StampLock is anacron's lock on a job's stamp: it is held from the decision
// to run until the run ended, so that no second anacron runs the job.
type StampLock struct {
	file *os.File
	id   string
}

// LockStamp locks a job's stamp, and creates it, empty, as anacron does, if it is missing. The
// error is ErrStampLocked if another process has locked it.
//
// The lock belongs to the open file and not to the process, unlike anacron's: the process may read
// the stamp meanwhile, and anacron still respects the lock.
func LockStamp(dir, id string) (*StampLock, error) {
	f, err := createStamp(dir, id)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart})
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		f.Close()
		return nil, ErrStampLocked
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock stamp %q: %w", id, err)
	}
	return &StampLock{f, id}, nil
}

// Write notes the day on which the run began.
func (l *StampLock) Write(day timetable.Day) error { return writeStamp(l.file, l.id, day) }

// Close releases the lock.
func (l *StampLock) Close() error { return l.file.Close() }
