package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// TestLargeCrontabsOfAUserDelayNobody has root's job run each second while a
// crontab of ann with a million entries reaches the spool, and while she installs
// crontabs of 10,000 entries in a loop. Without limits each load took seconds, in
// which nothing started.
func TestLargeCrontabsOfAUserDelayNobody(t *testing.T) {
	h := newTestHost(t)
	h.write("etc/cron.d/clock", "#@ name=clock sec=*\n* * * * * root :\n")
	h.start()
	records := h.watch()
	worst := func() (most time.Duration) {
		for {
			select {
			case r := <-records.item:
				if r.Job == "clock" && r.Kind == job.Started {
					most = max(most, r.Run.Started.Sub(r.Due))
				}
				if r.Job == "clock" && r.Kind == job.Decided && r.Decision == job.DecideSkip {
					t.Errorf("root's job of %v is skipped: %s %s", r.Due, r.Reason, r.Detail)
				}
			default:
				return most
			}
		}
	}
	started := func() {
		records.await("root's job starts", func(r job.Record) bool { return r.Job == "clock" && r.Kind == job.Started })
	}
	started()
	memory := h.memory("VmRSS")

	million := strings.Repeat("0 1 1 1 * a\n", 1_300_000)
	for i := range 3 {
		h.userCrontab("ann", annID, million+fmt.Sprintf("0 1 1 1 * %d\n", i))
		h.reload()
	}
	started()
	if got := worst(); got > time.Second {
		t.Errorf("a crontab of 1.3 million entries delays root's job by %v", got)
	}
	h.said("the rest of the crontab is not loaded", "the crontab has 1,300,001 jobs, and the limit of a user is 10,000")
	if n := len(h.status().Problems); n != 1 || !strings.Contains(h.status().Problems[0].What, "only the beginning of") {
		t.Errorf("problems: %+v", h.status().Problems)
	}
	if more := (h.memory("VmRSS") - memory) >> 20; more > 100 && !testing.Short() { // the race detector, which the short tests run under, takes several times as much
		t.Errorf("the daemon takes %d MiB more", more)
	}
	_, err := h.client.InstallCrontab(t.Context(), api.InstallRequest{User: "ann", File: "-", Text: []byte(million)})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("the installation of 1.3 million entries: %v", err)
	}

	for i := range 5 {
		text := strings.Repeat(fmt.Sprintf("0 1 1 1 * version %d\n", i), 10_000)
		if _, err := h.client.InstallCrontab(t.Context(), api.InstallRequest{User: "ann", File: "-", Text: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	started()
	if got := worst(); got > time.Second {
		t.Errorf("installing 10,000 entries in a loop delays root's job by %v", got)
	}
}
