package daemon

import (
	"os"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/spawn"
)

// bootID identifies a start of the system. In a container the kernel's id is the host's, so it
// includes the start time of process 1: when that changes, the system is new.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)) + "/" + spawn.StartTicks(1)
}

// startOf is the time since boot at which a process started; now when it has
// ended already.
func startOf(pid int, now time.Duration) time.Duration {
	up, ok := spawn.StartOf(pid)
	if !ok {
		return now
	}
	return min(now, up)
}
