package proc

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/job"
)

// NextDead returns a child that is probably dead and not reaped, or 0. The kernel also reports processes
// and threads that made this process their tracer, when they stop. For these, Wait returns false.
func NextDead() int {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err {
		case nil:
			const word = unsafe.Sizeof(uintptr(0))
			const first = (3*4 + word - 1) &^ (word - 1) // of the fields after si_signo, si_errno and si_code: si_pid
			return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), first)))
		case unix.EINTR:
		default:
			return 0
		}
	}
}

// Wait reaps a child that NextDead returned, and reports whether it was dead. It is the only function in
// this process that reaps. It does not block: a process that was stopped may be about to end, and its
// user can delay that.
func Wait(pid int) (status syscall.WaitStatus, used syscall.Rusage, dead bool) {
	for {
		if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, &used); err != syscall.EINTR {
			return status, used, got == pid && !status.Stopped()
		}
	}
}

// Outcome returns the outcome that an exit status means.
func Outcome(status syscall.WaitStatus) job.Outcome {
	if status.Signaled() {
		return job.Outcome{Kind: job.Signalled, Signal: int(status.Signal())}
	}
	return job.Outcome{Kind: job.Exited, Code: status.ExitStatus()}
}

// UsageOf returns what the kernel reports about a reaped process, and about the children that it
// has waited for itself. The peak of memory is unknown, and 0, unless it is above shared, in bytes:
// the kernel counts the memory in which a process was forked as its own.
func UsageOf(r *syscall.Rusage, shared int64) job.Usage {
	const block = 512
	peak := int64(r.Maxrss) << 10
	if peak <= shared {
		peak = 0
	}
	return job.Usage{
		CPU:    time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Memory: peak,
		Read:   int64(r.Inblock) * block,
		Write:  int64(r.Oublock) * block,
	}
}

// SignalGroup signals the process group of a child that is not yet reaped, so that its number cannot name
// another process. On a busy host the child might not yet lead a group; then the child alone is signalled.
func SignalGroup(pid int, sig syscall.Signal) {
	if syscall.Kill(-pid, sig) == syscall.ESRCH {
		_ = syscall.Kill(pid, sig) // fails if all of the group ended just now
	}
}
