package packaging

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// clockCases are those of testdata/lab/proof-clock.sh, in the order of time.
var clockCases = []string{"month", "spring", "zone", "autumn", "leap", "year"}

// TestClockCasesBesideDebianCron runs both crons through special instants of clocks and calendars,
// in emulated machines whose clock is set, and compares the started jobs of each minute.
func TestClockCasesBesideDebianCron(t *testing.T) {
	needLong(t, "each case takes minutes of an emulated machine: make clock")
	machinetest.Need(t, "qemu-system-x86_64", "qemu-img")
	m := machine{
		engine: "qemu", packages: machinetest.Packages, proof: "clock", args: clockCases,
		limit: time.Duration(2+6*len(clockCases)) * time.Minute,
		files: map[string]string{"tables/cron.d/lab-clock": text(t, filepath.Join(lab, "clock", "cron.d", "lab-clock"))},
	}
	theirs, ours := runBoth(t, asDebian(m), m)
	for _, name := range clockCases {
		t.Run(name, func(t *testing.T) {
			window := commonStarts(t, theirs.file(t, name+".log"), ours.file(t, name+".log"))
			compare(t, starts(t, theirs, name, window), starts(t, ours, name, window), 8)
		})
	}
}

// commonStarts are the whole minutes that both logs saw: from the first in
// which both started the job of every minute, to the last but one.
func commonStarts(t *testing.T, logs ...string) map[string]bool {
	var common []string
	for i, log := range logs {
		var minutes []string
		for _, f := range regexp.MustCompile(`(?m)^(\d\d:\d\d) every$`).FindAllStringSubmatch(log, -1) {
			if minute := f[1]; i == 0 || slices.Contains(common, minute) {
				minutes = append(minutes, minute)
			}
		}
		common = slices.Compact(minutes)
	}
	if len(common) < 3 {
		t.Fatalf("both saw only the minutes %v", common)
	}
	window := map[string]bool{}
	for _, minute := range common[:len(common)-1] {
		window[minute] = true
	}
	t.Logf("compared: %v UTC", common[:len(common)-1])
	return window
}

func starts(t *testing.T, r result, name string, window map[string]bool) deeds {
	all := deeds{}
	for line := range strings.Lines(r.file(t, name+".log")) {
		var minute, job string
		if _, err := fmt.Sscan(line, &minute, &job); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		if window[minute] {
			all.add(minute+" start of "+job, map[string]string{"started": "yes"})
		}
	}
	return all
}
