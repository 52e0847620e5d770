package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// Used formats the resource usage of a run, or returns "" if it is unknown.
func Used(u *job.Usage) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"cpu", CPUTime(u.CPU)}, {"memory", display.Bytes(u.Memory)}, {"read", display.Bytes(u.Read)}, {"written", display.Bytes(u.Write)},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "    " + strings.Join(parts, ", ")
}

// CPUTime writes processor time, "" for none.
func CPUTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s"
}
