package spawn

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// wantedFiles is two pipes for as many processes as there can be under the
	// kernel's usual pid_max, 32,768.
	wantedFiles = 1 << 16

	// reservedFiles stay free of pipes, for the store, the sockets and what a
	// start needs for a moment.
	reservedFiles = 256
)

// files is the daemon's stock of descriptors.
type files struct {
	null     int
	pipes    int          // how many output pipes may be open
	jobLimit *unix.Rlimit // what children are given back; nil: Go sees to it
	mayRaise bool
}

func (f *files) open() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	f.null = null
	f.mayRaise = limit.Max < wantedFiles
	f.budget(limit.Cur)
	return nil
}

func (f *files) budget(limit uint64) {
	f.pipes = int(limit - min(reservedFiles, limit/2))
}

func (f *files) close() { _ = syscall.Close(f.null) }

// release closes pipes and files in memory, which cannot fail, but not the
// shared /dev/null among a child's files, nor 0, which stands for none.
func (f *files) release(fds ...int) {
	for _, fd := range fds {
		if fd != 0 && fd != f.null {
			_ = syscall.Close(fd)
		}
	}
}

// settleLimit gives a child the limit of open files that the daemon was
// started with.
//
// Go raised the soft limit when this process began, and puts it back in each
// child before exec, as long as nobody touched the hard one. That covers every
// host on which the hard limit is large enough. Where it is not, the first
// child, still with the limits of old, tells what they were; then the daemon's
// are raised, if it may, and put back in later children from outside, moments
// after their exec.
func (f *files) settleLimit(pid int) {
	if f.mayRaise {
		f.mayRaise = false
		f.raise(pid)
		return
	}
	if f.jobLimit != nil {
		_ = unix.Prlimit(pid, unix.RLIMIT_NOFILE, f.jobLimit, nil) // fails only for one that ended
	}
}

func (f *files) raise(first int) {
	var old unix.Rlimit
	if err := unix.Prlimit(first, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return
	}
	// Prlimit and not Setrlimit: that one tells Go to leave children alone.
	wanted := unix.Rlimit{Cur: wantedFiles, Max: wantedFiles}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &wanted, nil); err != nil {
		return // not privileged: fewer jobs have their output kept
	}
	f.jobLimit = &old
	f.budget(wantedFiles)
}
