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
	original unix.Rlimit  // what the daemon was started with, and its children get
	raised   bool         // above the hard limit
}

// open raises the limit of open files if the hard one is small and the daemon
// may. Go has raised the soft limit already when this process began.
func (f *files) open() error {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	f.null = null
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &f.original); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	f.budget(f.original.Cur)
	_ = f.probe(&f.original) // otherwise children get the soft limit that Go has raised
	if f.original.Max < wantedFiles {
		// Prlimit, because after Setrlimit Go would pass this limit to children.
		f.raised = unix.Prlimit(0, unix.RLIMIT_NOFILE, &raisedLimit, nil) == nil
	}
	if f.raised {
		f.budget(wantedFiles)
	}
	return f.extendTable()
}

// extendTable has the kernel make its table of this process's files as large as
// it will ever be, half a megabyte at most. A table that grows later waits for
// all processors to pass through the scheduler (synchronize_rcu), because threads
// share it. A user whose processes call kill(-1, SIGSTOP) in a loop made each of
// these waits last ten seconds, and nothing was started during it.
func (f *files) extendTable() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	last := int(min(limit.Cur, wantedFiles)) - 1
	fd, err := unix.FcntlInt(uintptr(f.null), unix.F_DUPFD_CLOEXEC, last)
	if err != nil {
		return fmt.Errorf("extend the table of open files: %w", err)
	}
	f.release(fd)
	return nil
}

var raisedLimit = unix.Rlimit{Cur: wantedFiles, Max: wantedFiles}

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

// probe reads the limits with which this process was started. Go restores them only in a child, so
// probe starts one, which ends as soon as its input does. It is reaped like an orphan.
func (f *files) probe(limit *unix.Rlimit) error {
	var input [2]int
	if err := syscall.Pipe2(input[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	defer f.release(input[:]...)
	pid, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "read x"}, &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{uintptr(input[0]), uintptr(f.null), uintptr(f.null)},
	})
	if err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, limit)
}

// lend puts the original limit back for the program that takes this one's
// place, or raises it again. What is open stays open.
func (f *files) lend(back bool) {
	if !f.raised {
		return
	}
	limit := &raisedLimit
	if back {
		limit = &f.original
	}
	_ = unix.Prlimit(0, unix.RLIMIT_NOFILE, limit, nil) // it went the same way before
}
