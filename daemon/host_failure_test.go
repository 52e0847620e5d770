package daemon

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// What becomes of failures is decided once and lasts: over the death of the
// daemon a job stays paused, held by its breaker, its letter among the dead.
func TestHostRemembersWhatFailed(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	gate := h.fifo("gate")
	line := fmt.Sprintf("@reboot ann read x <%s; ", gate.Name())
	h.write("etc/crontab", "#@ name=stands on-exhausted=pause\n"+line+"exit 7\n"+
		"#@ name=broken breaker=1/6h\n"+line+"exit 1\n"+
		"#@ name=letter retry=1 backoff=0s\n"+line+"test -e good\n"+
		"#@ name=fine ok=3\n"+line+"exit 3\n")
	h.start()
	records := h.watch()
	h.open(gate, 5)
	over := map[job.ID]*job.Run{}
	records.await("the end of all runs", func(r job.Record) bool {
		if r.Kind == job.Ended && r.Run.Verdict.Final() {
			over[r.Job] = r.Run
		}
		return len(over) == 4
	})
	for id, want := range map[job.ID]job.Verdict{"stands": job.VerdictFail, "broken": job.VerdictFail, "letter": job.VerdictDead, "fine": job.VerdictOK} {
		if got := over[id]; got.Verdict != want {
			t.Errorf("%s: run %d ended %s with the verdict %s, want %s", id, got.ID, got.Outcome, got.Verdict, want)
		}
	}
	if got := over["letter"].Attempt; got != 2 {
		t.Errorf("the letter is attempt %d, want 2", got)
	}

	h.signal(syscall.SIGKILL)
	h.wait()
	h.start()
	jobs, err := h.client.List(h.context(), api.Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[job.ID]string{"stands": "failed for good: exit 7", "broken": "breaker=", "letter": "", "fine": ""}
	for _, j := range jobs {
		held := ""
		if j.Hold != nil {
			held = j.Hold.By + ": " + j.Hold.Reason.Words()
		}
		if w := want[j.Job.ID]; !strings.Contains(held, w) || (held == "") != (w == "") {
			t.Errorf("%s is held by %q, want %q", j.Job.ID, held, w)
		}
		if good := j.State == job.StateOK; good != (j.Job.ID == "fine") {
			t.Errorf("%s is %s", j.Job.ID, j.State)
		}
	}
	h.write("home/ann/good", "")
	records = h.watch()
	h.open(gate, 1)
	again, err := h.client.Redrive(h.context(), api.DeadLetterRequest{Refs: []string{"letter"}})
	if err != nil || len(again) != 1 || again[0].Invocation != over["letter"].Invocation {
		t.Fatalf("redriven: %+v, %v; want one run of the same occurrence", again, err)
	}
	r := records.await("the end of the redriven run", func(r job.Record) bool { return r.Kind == job.Ended && r.Run.ID == again[0].ID })
	letters, err := h.client.Dead(h.context(), api.DeadLetterQuery{})
	if err != nil || len(letters) != 0 || !r.Run.OK() {
		t.Errorf("it ended %s, and the dead letters are %+v, %v; want none", r.Run.Outcome, letters, err)
	}
	if _, err := h.client.Resume(h.context(), api.ResumeRequest{Refs: []string{"stands", "broken"}}); err != nil {
		t.Errorf("resume: %v", err)
	}
}
