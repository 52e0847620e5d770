package daemon

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// bootID tells one start of the system from the next. In a container the
// kernel's id is the host's, so the start time of process 1 is part of it:
// when that is new, so is the system.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)) + "/" + startTicks(1)
}

// startTicks is field 22 of /proc/PID/stat, in ticks since the kernel started;
// see proc(5). The second field, in parentheses, may hold blanks and more of
// them.
func startTicks(pid int) string {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	if fields := strings.Fields(string(after)); len(fields) > 19 {
		return fields[19]
	}
	return ""
}

// startOf is the time since boot at which a process started; now when it has
// ended already.
func startOf(pid int, now time.Duration) time.Duration {
	ticks, err := strconv.ParseInt(startTicks(pid), 10, 64)
	if err != nil {
		return now
	}
	const perSecond = 100 // USER_HZ, which is 100 on every architecture that Go runs on
	return min(now, time.Duration(ticks)*time.Second/perSecond)
}
