package packaging

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestTablesEditedWhileRunning(t *testing.T) {
	needLab(t)
	machine{packages: lean, proof: "edits", limit: 10 * time.Minute}.run(t)
}

func TestBootLockJournalWatchdogSocket(t *testing.T) {
	needLab(t)
	machine{packages: lean, proof: "boot", files: map[string]string{
		"tables/cron.d/boot": "#@ name=voice\n0 0 29 2 * root echo hello from voice\n" +
			"#@ name=sleeper\n0 0 29 2 * root echo $$ >/lab/out/sleeper; until test -e /lab/gate; do sleep 0.2; done; exit 7\n" +
			"#@ name=pulse every=1s\n* * * * * root echo beat >>/lab/out/pulse\n" +
			"#@ name=atboot\n@reboot root echo booted >>/lab/out/reboot\n",
	}}.run(t)
}

func TestPrivilegeEscalationsRefused(t *testing.T) {
	needLab(t)
	machine{packages: lean, proof: "privilege", limit: 10 * time.Minute, files: map[string]string{
		"sendmail":           text(t, filepath.Join(lab, "sendmail")),
		"tables/cron.d/root": "#@ name=secret\n0 0 29 2 * root echo SECRET | tee -a /lab/out/secret; date\n",
		"tables/users/alice": "#@ name=private\n0 0 29 2 * echo SECRET of alice\n",
	}}.run(t)
}

// Strangers' requests, malformed or never ending, delay no start by more than
// 10 ms. What else this machine does can only make it worse, so one round in
// which it holds is enough.
func TestFloodDelaysNoStart(t *testing.T) {
	needLab(t)
	const rounds = 2
	r := machine{packages: lean, proof: "flood", args: []string{"1000", fmt.Sprint(rounds)}, files: map[string]string{
		"tables/cron.d/clock": "#@ name=clock every=1s\n* * * * * root echo tick >>/lab/out/ticks\n",
	}}.run(t)
	held := false
	for round := 1; round <= rounds; round++ {
		idle, flood := lag(t, r.file(t, fmt.Sprint("idle.", round))), lag(t, r.file(t, fmt.Sprint("flood.", round)))
		t.Logf("round %d: the slowest of 20 starts came %v after its second in peace, %v under 1,000 requests", round, idle, flood)
		held = held || flood <= idle+10*time.Millisecond
	}
	if !held {
		t.Error("each time 1,000 requests delayed a start by more than 10 ms")
	}
}

// lag is how late the slowest of the runs started.
func lag(t *testing.T, history string) time.Duration {
	t.Helper()
	var slowest time.Duration
	for _, run := range decodeRuns(t, history) {
		slowest = max(slowest, run.Started.Sub(run.Due))
	}
	if slowest <= 0 {
		t.Fatalf("no start was measured: %s", history)
	}
	return slowest
}

func decodeRuns(t *testing.T, history string) []job.Run {
	t.Helper()
	var runs []job.Run
	for line := range strings.Lines(history) {
		var run job.Run
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		runs = append(runs, run)
	}
	return runs
}

func TestRestartsUnderRunningJobs(t *testing.T) {
	needLab(t)
	const n = 200
	actions := []string{"reload", "upgrade", "restart", "kill"}
	if long() { // the moments between a start and its record are short
		actions = append(actions, "kill-2", "kill-3", "kill-4", "kill-5", "kill-6")
	}
	r := restarts(t, "", n, actions)
	for _, action := range actions {
		judgeRuns(t, r, action, n, false)
	}
}

// On a kernel that tells nobody but the parent how a process ended, what the
// daemon did not see is lost; what it never stopped watching is not.
func TestRestartsOnOlderKernel(t *testing.T) {
	needLab(t, "qemu-system-x86_64", "qemu-img")
	if !long() {
		t.Skip("SKIPPED: the emulated machine takes minutes: CRONRING_LONG=1")
	}
	const n = 20
	r := restarts(t, "qemu", n, []string{"reload", "restart", "kill"})
	judgeRuns(t, r, "reload", n, false)
	judgeRuns(t, r, "restart", n, true)
	judgeRuns(t, r, "kill", n, true)
}

func restarts(t *testing.T, engine string, n int, actions []string) result {
	var table strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&table, "#@ name=j%d\n0 0 29 2 * root exec /lab/job %d\n", i, i)
	}
	return machine{
		engine: engine, packages: lean, proof: "restart", args: append([]string{fmt.Sprint(n)}, actions...), limit: 15 * time.Minute,
		files: map[string]string{"tables/cron.d/many": table.String(), "job": text(t, filepath.Join(lab, "job"))},
	}.run(t)
}

// judgeRuns holds the n runs of an action to what testdata/lab/job did.
func judgeRuns(t *testing.T, r result, action string, n int, mayBeLost bool) {
	t.Helper()
	runs := map[string]job.Run{}
	for _, run := range decodeRuns(t, r.file(t, action+"/history.jsonl")) {
		name := string(run.Job)
		name = name[strings.LastIndexAny(name, "/:")+1:]
		if _, twice := runs[name]; twice {
			t.Errorf("%s: %s ran twice", action, name)
		}
		runs[name] = run
	}
	lost := 0
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("j%d", i)
		run, ok := runs[name]
		if !ok {
			t.Errorf("%s: no run of %s is recorded", action, name)
			continue
		}
		if got, want := run.Outcome, ending(i); got.Kind == job.Lost && mayBeLost {
			lost++
		} else if got.Kind != want.Kind || got.Code != want.Code || got.Signal != want.Signal {
			t.Errorf("%s: %s: got %+v, want %+v", action, name, got, want)
		}
		output := r.file(t, filepath.Join(action, name))
		for _, want := range []string{"before %d\n", "before %d err\n", "after %d\n", "after %d err\n"} {
			if want = fmt.Sprintf(want, i); !strings.Contains(output, want) {
				t.Errorf("%s: the output of %s is without %q: %q", action, name, want, output)
			}
		}
	}
	t.Logf("%s: %d runs, %d lost", action, len(runs), lost)
}

// ending is what job i does last.
func ending(i int) job.Outcome {
	if i%10 == 9 {
		return job.Outcome{Kind: job.Signalled, Signal: 9}
	}
	return job.Outcome{Kind: job.Exited, Code: i % 7}
}
