package self

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Advantage is the difference between the daemon's nice value and that of its jobs. With this
// difference the kernel gives the daemon about nine times the share of a busy job.
const Advantage = 10

// Priority is the daemon's own, above that of its jobs, so that it starts jobs on time while
// other jobs use all processors.
type Priority struct {
	Original int // nice value with which the daemon was started, and with which jobs start
	Raised   bool
}

// Raise increases the priority of this process, if permitted: not in a container, nor for a user.
// Processes that it starts get the original value back.
func (p *Priority) Raise() {
	original, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return
	}
	p.Original = 20 - original // the system call returns 20 minus the nice value
	p.Raised = setNice(max(p.Original-Advantage, -20))
	if p.Raised {
		setAutogroup(-Advantage)
	}
}

// Restore is for the program that takes this one's place.
func (p *Priority) Restore() {
	if p.Raised {
		setNice(p.Original)
		setAutogroup(0)
		p.Raised = false
	}
}

// setNice sets the nice value of all threads, because Linux has one for each. A new thread inherits
// it from the thread that made it, so a second pass finds threads that were made during the first.
func setNice(nice int) bool {
	done := map[string]bool{}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return false
		}
		known := len(done)
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil || done[thread.Name()] {
				continue
			}
			if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil && err != unix.ESRCH {
				return false
			}
			done[thread.Name()] = true
		}
		if len(done) == known {
			return true
		}
	}
}

// setAutogroup sets the nice value of this session among all sessions. Without a
// processor controller the kernel divides the time among sessions first (see
// sched(7), autogroup), and each job has a session of its own. A daemon in the
// session of a terminal leaves that alone.
func setAutogroup(nice int) {
	session, err := unix.Getsid(0)
	if err != nil || session != os.Getpid() {
		return
	}
	enabled, _ := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled") // absent on other kernels
	if strings.TrimSpace(string(enabled)) == "1" {
		_ = os.WriteFile("/proc/self/autogroup", fmt.Append(nil, nice), 0) // as for the other value
	}
}
