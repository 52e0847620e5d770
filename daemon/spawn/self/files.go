package self

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// WantedFiles is two pipes for as many processes as there can be under the
	// kernel's usual pid_max, 32,768.
	WantedFiles = 1 << 16

	// ReservedFiles stay free of pipes, for the store, the sockets and what a
	// start needs for a moment.
	ReservedFiles = 256
)

// Files is the daemon's stock of descriptors.
type Files struct {
	Null     int
	Pipes    atomic.Int64 // how many descriptors runs may take: pipes above all
	Original unix.Rlimit  // what the daemon was started with, and its children get
	raised   bool         // above the hard limit
}

// Estimate sets Pipes by the limit of open files before Open, which may raise it.
func (f *Files) Estimate() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		f.budget(limit.Cur)
	}
}

// Open raises the limit of open files if the hard one is small and the daemon
// may. Go has raised the soft limit already when this process began.
func (f *Files) Open() error {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	f.Null = null
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &f.Original); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	f.budget(f.Original.Cur)
	_ = f.probe(&f.Original) // otherwise children get the soft limit that Go has raised
	if f.Original.Max < WantedFiles {
		// Prlimit, because after Setrlimit Go would pass this limit to children.
		f.raised = unix.Prlimit(0, unix.RLIMIT_NOFILE, &raisedLimit, nil) == nil
	}
	if f.raised {
		f.budget(WantedFiles)
	}
	return f.extendTable()
}

// extendTable has the kernel make its table of this process's files as large as
// it will ever be, half a megabyte at most. A table that grows later waits for
// all processors to pass through the scheduler (synchronize_rcu), because threads
// share it. A user whose processes call kill(-1, SIGSTOP) in a loop made each of
// these waits last ten seconds, and nothing was started during it.
func (f *Files) extendTable() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	last := int(min(limit.Cur, WantedFiles)) - 1
	fd, err := unix.FcntlInt(uintptr(f.Null), unix.F_DUPFD_CLOEXEC, last)
	if err != nil {
		return fmt.Errorf("extend the table of open files: %w", err)
	}
	f.Release(fd)
	return nil
}

var raisedLimit = unix.Rlimit{Cur: WantedFiles, Max: WantedFiles}

func (f *Files) budget(limit uint64) {
	f.Pipes.Store(int64(limit - min(ReservedFiles, limit/2)))
}

func (f *Files) Close() { _ = syscall.Close(f.Null) }

// Release closes pipes and files in memory, which cannot fail, but not the
// shared /dev/null among a child's files, nor 0, which stands for none.
func (f *Files) Release(fds ...int) {
	for _, fd := range fds {
		if fd != 0 && fd != f.Null {
			_ = syscall.Close(fd)
		}
	}
}

// probe reads the limits with which this process was started. Go restores them only in a child, so
// probe starts one, which ends as soon as its input does. It is reaped like an orphan.
func (f *Files) probe(limit *unix.Rlimit) error {
	var input [2]int
	if err := syscall.Pipe2(input[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	defer f.Release(input[:]...)
	pid, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", "read x"}, &syscall.ProcAttr{
		Dir: "/", Files: []uintptr{uintptr(input[0]), uintptr(f.Null), uintptr(f.Null)},
	})
	if err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, limit)
}

// Lend puts the original limit back for the program that takes this one's
// place, or raises it again. What is open stays open.
func (f *Files) Lend(back bool) {
	if !f.raised {
		return
	}
	limit := &raisedLimit
	if back {
		limit = &f.Original
	}
	_ = unix.Prlimit(0, unix.RLIMIT_NOFILE, limit, nil) // it went the same way before
}
