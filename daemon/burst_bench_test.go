package daemon

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/api"
)

// BenchmarkBurst measures 500 jobs due at the same time, with the disk of this machine and with
// one that takes 500 ms for each commit: the delay until the first start (goal: 5 ms) and the last
// (goal with the slow disk: 0.8 s). bare is the time from the first to the last start of 500
// processes that one process only forks and executes.
func BenchmarkBurst(b *testing.B) {
	for _, c := range []struct {
		name   string
		commit time.Duration
	}{{"disk", 0}, {"slow-disk", 500 * time.Millisecond}} {
		b.Run(c.name, func(b *testing.B) {
			const jobs = 500
			h := newTestHost(b)
			h.CommitTime = c.commit
			h.mountRun()
			h.start()
			var first, last, bare []time.Duration
			for b.Loop() {
				for range 3 {
					due := time.Now().Add(4 * time.Second).Truncate(time.Second).UTC()
					var text strings.Builder
					for i := range jobs {
						fmt.Fprintf(&text, "#@ tz=UTC sec=%d\n%d %d * * * root : job %d\n", due.Second(), due.Minute(), due.Hour(), i)
					}
					h.write("etc/crontab", text.String())
					lags := h.lags(due, jobs)
					bare = append(bare, forkExec(b, jobs))
					first, last = append(first, lags[0]), append(last, lags[len(lags)-1])
				}
			}
			for unit, all := range map[string][]time.Duration{"ms-first": first, "ms-last": last, "ms-bare": bare} {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, unit)
			}
		})
	}
}

// mountRun has the host keep run in memory, as hosts do.
func (h *testHost) mountRun() {
	h.t.Helper()
	if err := unix.Mount("tmpfs", h.path("run"), "tmpfs", 0, "mode=755"); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := unix.Unmount(h.path("run"), unix.MNT_DETACH); err != nil {
			h.t.Error(err)
		}
	})
}

// lags returns how long after an instant each of the runs for it started, in order,
// once all have ended.
func (h *testHost) lags(due time.Time, runs int) (lags []time.Duration) {
	h.t.Helper()
	for late := time.Now().Add(hostPatience); len(lags) < runs; lags = h.startsOf(due) {
		if time.Now().After(late) {
			h.t.Fatalf("%d of %d runs ended", len(lags), runs)
		}
		<-time.After(time.Second) // to ask costs what the runs need
	}
	slices.Sort(lags)
	return lags
}

// startsOf returns the starts of the runs that have ended.
func (h *testHost) startsOf(due time.Time) (lags []time.Duration) {
	h.t.Helper()
	history, err := h.client.History(h.context(), api.Filter{Since: due, Limit: 10_000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range history.Runs {
		if r.Due.Equal(due) && !r.Ended.IsZero() {
			lags = append(lags, r.Started.Sub(due))
		}
	}
	return lags
}

// forkExec starts as many processes one after the other as a burst has, and returns
// how long that takes.
func forkExec(b *testing.B, processes int) time.Duration {
	begin := time.Now()
	started := make([]*exec.Cmd, processes)
	for i := range started {
		started[i] = exec.Command("/bin/sh", "-c", fmt.Sprintf(": job %d", i))
		if err := started[i].Start(); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(begin)
	for _, cmd := range started {
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	return took
}
