package spawn

import (
	"fmt"
	"sync/atomic"
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
	pipes    atomic.Int64 // how many descriptors runs may take: pipes above all
	jobLimit *unix.Rlimit // what children are given back; nil: Go sees to it
	started  *unix.Rlimit // what the daemon was started with, once that was asked for
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
	f.pipes.Store(int64(limit - min(reservedFiles, limit/2)))
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

// original is the limit that the daemon was started with. Go knows, but gives
// it to nobody except a child, so that one is made which waits to be looked at.
// Where that fails, the daemon's own limit has to do.
func (f *files) original() unix.Rlimit {
	switch {
	case f.jobLimit != nil:
		return *f.jobLimit
	case f.started == nil:
		f.started = new(unix.Rlimit)
		if f.probe(f.started) != nil {
			_ = unix.Getrlimit(unix.RLIMIT_NOFILE, f.started) // it worked in open
		}
	}
	return *f.started
}

// probe looks at the limit of a child that ends as soon as its input does. It
// is reaped like any orphan.
func (f *files) probe(limit *unix.Rlimit) error {
	var input [2]int
	if err := syscall.Pipe2(input[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	defer f.release(input[:]...)
	pid, err := forkExec(command{
		path: "/bin/sh",
		argv: []string{"/bin/sh", "-c", "read x"},
		dir:  "/",
	}, []uintptr{uintptr(input[0]), uintptr(f.null), uintptr(f.null)})
	if err != nil {
		return err
	}
	err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, limit)
	f.settleLimit(pid)
	return err
}

// lend puts the limit that was raised back for the program that takes this
// one's place, or raises it again. What is open stays open.
func (f *files) lend(back bool) {
	limit := &unix.Rlimit{Cur: wantedFiles, Max: wantedFiles}
	switch {
	case f.jobLimit == nil:
		return
	case back:
		limit = f.jobLimit
	}
	_ = unix.Prlimit(0, unix.RLIMIT_NOFILE, limit, nil) // it went the same way before
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
