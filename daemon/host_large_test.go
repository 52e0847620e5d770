package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// TestLargeCrontabsOfAUserDelayNobody has root's job run each second while a
// crontab of ann with a million entries reaches the spool, and while she installs
// crontabs of 10,000 entries in a loop. Without limits each load took seconds of a
// processor, in which nothing started. How late a start is depends on what else the
// machine does, so the test measures what the daemon uses.
func TestLargeCrontabsOfAUserDelayNobody(t *testing.T) {
	h := newTestHost(t)
	h.write("etc/cron.d/clock", "#@ name=clock sec=*\n* * * * * root :\n")
	h.start()
	records := h.watch()
	started := func() {
		t.Helper()
		records.await("root's job starts", func(r job.Record) bool { return r.Job == "clock" && r.Kind == job.Started })
	}
	started()
	memory, begun := h.memory("VmRSS"), h.processorTime()
	spent := func(what string) {
		t.Helper()
		started()
		now := h.processorTime()
		if got := now - begun; got > 5*time.Second && !testing.Short() { // the race detector, which the short tests run under, takes several times as much
			t.Errorf("%s take %v of a processor", what, got)
		}
		begun = now
	}

	million := strings.Repeat("0 1 1 1 * a\n", 1_300_000)
	for i := range 3 {
		h.userCrontab("ann", annID, million+fmt.Sprintf("0 1 1 1 * %d\n", i))
		h.reload()
	}
	spent("three loads of a crontab of 1.3 million entries")
	h.said("the rest of the crontab is not loaded", "the crontab has 1,300,001 jobs, and the limit of a user is 10,000")
	if n := len(h.status().Problems); n != 1 || !strings.Contains(h.status().Problems[0].What, "only the beginning of") {
		t.Errorf("problems: %+v", h.status().Problems)
	}
	if more := (h.memory("VmRSS") - memory) >> 20; more > 100 && !testing.Short() { // as above
		t.Errorf("the daemon takes %d MiB more", more)
	}
	_, err := h.client.InstallCrontabFile(t.Context(), api.CrontabFileRequest{User: "ann", Source: "-", Strict: true, Text: []byte(million)})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("the installation of 1.3 million entries: %v", err)
	}

	for i := range 5 {
		text := strings.Repeat(fmt.Sprintf("0 1 1 1 * version %d\n", i), 10_000)
		if _, err := h.client.InstallCrontabFile(t.Context(), api.CrontabFileRequest{User: "ann", Source: "-", Strict: true, Text: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	spent("five loads of 10,000 entries")
}

// processorTime returns how long the daemon has used a processor.
func (h *testHost) processorTime() time.Duration {
	h.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, err := strconv.Atoi(fields[12]) // see proc_pid_stat(5)
	system, err2 := strconv.Atoi(fields[13])
	if err := errors.Join(err, err2); err != nil {
		h.t.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100
}
