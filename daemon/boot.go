package daemon

import (
	"os"
	"strings"
)

// bootID tells one start of the system from the next. In a container the
// kernel's id is the host's, so the start time of process 1 is part of it:
// when that is new, so is the system.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)) + "/" + startOfProcess1()
}

// startOfProcess1 is field 22 of /proc/1/stat, in ticks since the kernel
// started; see proc(5). The second field, in parentheses, may hold blanks.
func startOfProcess1() string {
	stat, _ := os.ReadFile("/proc/1/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(after); len(fields) > 19 {
		return fields[19]
	}
	return ""
}
