package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// used says what the processes of a run have used, or nothing where nothing is
// known.
func used(u *job.Usage) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"cpu", cpuTime(u.CPU)}, {"memory", size(u.Memory)}, {"read", size(u.Read)}, {"written", size(u.Write)},
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

// cpuTime writes processor time, "" for none.
func cpuTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s"
}

// size writes bytes in the units of memory=, with at least three digits: 900,
// 12.3K, 1.50G; "" for none.
func size(n int64) string {
	const units = "KMGTPE"
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return strconv.FormatInt(n, 10)
	}
	f, unit := float64(n), -1
	for ; f >= 999.5; unit++ {
		f /= 1024
	}
	decimals := 0
	if f < 99.95 {
		decimals++
	}
	if f < 9.995 {
		decimals++
	}
	return strconv.FormatFloat(f, 'f', decimals, 64) + units[unit:unit+1]
}
