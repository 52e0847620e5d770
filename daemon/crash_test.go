package daemon

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store"
)

// crashCrontab has jobs for each second: one that survives crashes and must never run twice at the
// same time, and short ones that start and end continuously.
func crashCrontab(dir string) string {
	return "DIR=" + dir + `
#@ name=alone every=1s catchup=skip grace=1s overlap=skip if-lost=rerun
* * * * * root mkdir "$DIR/alone" || echo "$CRONRING_RUN_ID" >>"$DIR/doubled"; for i in 1 2 3 4 5; do echo $i; sleep 0.3; done; rmdir "$DIR/alone"; (sleep 3; echo late; echo x >>"$DIR/late") &
#@ name=once every=1s catchup=once grace=1s
* * * * * ann echo some output
` + strings.Repeat("#@ every=1s\n* * * * * ann echo load\n", 30)
}

// TestCrashUnderAManager kills a daemon under a service manager at random points.
// After all of it each occurrence was decided once, and each run of a job that
// takes longer than that ended as it should, with all of its output. TestCrash of
// cronringd does the same without a service manager.
func TestCrashUnderAManager(t *testing.T) {
	crashes := 4
	if n, err := strconv.Atoi(os.Getenv("CRONRING_CRASHES")); err == nil {
		crashes = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	h := newTestHost(t)
	h.withManager()
	h.write("etc/crontab", crashCrontab(h.Root))
	for range crashes {
		h.start()
		w := h.watch()
		for range rng.IntN(200) { // complete records first, then a part of the next record
			w.await("a record", func(job.Record) bool { return true })
		}
		for spin := rng.IntN(2_000_000); spin > 0; spin-- {
		}
		h.signal(syscall.SIGKILL)
		h.wait()
	}
	h.start()
	w := h.watch()
	alone := w.await("the end of a run", func(r job.Record) bool { return r.Kind == job.Ended && r.Job == "alone" }).Run.ID
	h.stop()
	for _, pid := range h.shims() { // they write until background processes end
		gone(t, pid)
	}
	checkAfterCrashes(t, h, alone)
	if doubled, err := os.ReadFile(h.path("doubled")); err == nil {
		t.Errorf("runs that began while another was under way, or after one that was cut off:\n%s", doubled)
	}
}

func checkAfterCrashes(t *testing.T, h *testHost, last job.RunID) {
	t.Helper()
	s, err := store.Open(t.Context(), h.path("var/lib/cronring"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range []job.ID{"alone", "once"} {
		records, err := s.Decisions(t.Context(), id, time.Time{}, time.Now(), 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		var next time.Time
		ran := 0
		for _, r := range records {
			first := r.Due
			if r.Count > 1 {
				first = r.First
			}
			if !next.IsZero() && !first.Equal(next) {
				t.Errorf("%s: after %s comes %s", id, next.Add(-time.Second), first)
			}
			next = r.Due.Add(time.Second)
			if id != "alone" || r.Run == nil || r.Run.ID > last || r.Run.Started.IsZero() {
				continue
			}
			ran++
			chunks, err := s.Output(t.Context(), r.Run.ID)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, c := range chunks {
				out.Write(c.Data)
			}
			if !strings.HasPrefix(out.String(), "1\n2\n3\n4\n5\n") || !r.Run.Outcome.OK() {
				t.Errorf("run %d of %s, %s to %s: %v %s, printed %q", r.Run.ID, id, r.Run.Started, r.Run.Ended, r.Run.Outcome, r.Run.Outcome.Error, out.String())
			}
		}
		t.Logf("%s: %d decisions, %d runs", id, len(records), ran)
	}
}
