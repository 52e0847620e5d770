package packaging

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/packaging/machinetest"
)

func TestCrontabsEditedWhileRunning(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "edits", limit: 10 * time.Minute}.run(t)
}

func TestBootLockJournalWatchdogSocket(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "boot", files: map[string]string{
		"tables/cron.d/boot": "#@ name=voice\n0 0 29 2 * root echo hello from voice\n" +
			"#@ name=sleeper\n0 0 29 2 * root echo $$ >/lab/out/sleeper; until test -e /lab/gate; do sleep 0.2; done; exit 7\n" +
			"#@ name=pulse every=1s\n* * * * * root echo beat >>/lab/out/pulse\n" +
			"#@ name=atboot\n@reboot root echo booted >>/lab/out/reboot\n",
	}}.run(t)
}

func TestPrivilegeEscalationsRefused(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "privilege", limit: 10 * time.Minute, files: map[string]string{
		"sendmail":           text(t, filepath.Join(lab, "sendmail")),
		"tables/cron.d/root": "#@ name=secret\n0 0 29 2 * root echo SECRET | tee -a /lab/out/secret; date\n",
		"tables/users/alice": "#@ name=private\n0 0 29 2 * echo SECRET of alice\n",
	}}.run(t)
}

// Strangers' requests, malformed or never ending, take no start away, and delay
// none for long. By how little is BenchmarkStartsUnderFlood's to say: it is
// milliseconds, which other work on the machine is good for, too.
func TestFloodKeepsNoStartBack(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	idle, flooded := underFlood(t)
	for when, runs := range map[string][]job.Run{"in peace": idle, "under the flood": flooded} {
		slices.SortFunc(runs, func(a, b job.Run) int { return a.Due.Compare(b.Due) })
		for i := 1; i < len(runs); i++ {
			if missed := runs[i].Due.Sub(runs[i-1].Due) - time.Second; missed != 0 {
				t.Errorf("%s: no start for %v after %v", when, missed, runs[i-1].Due)
			}
		}
	}
	if got := lag(t, flooded); got > late {
		t.Errorf("a start was late by %v under the flood, want at most %v", got, late)
	}
}

// BenchmarkStartsUnderFlood measures the delay of the slowest of twenty starts, without load and
// under a thousand requests of other users.
func BenchmarkStartsUnderFlood(b *testing.B) {
	machinetest.Need(b)
	for b.Loop() {
		idle, flooded := underFlood(b)
		b.ReportMetric(float64(lag(b, idle).Microseconds())/1000, "ms-late-in-peace")
		b.ReportMetric(float64(lag(b, flooded).Microseconds())/1000, "ms-late-under-flood")
	}
	b.ReportMetric(0, "ns/op")
}

// underFlood measures twenty runs of a job of each second without load, and twenty under a
// thousand requests. Then a user's job prints without end.
func underFlood(t testing.TB) (idle, flooded []job.Run) {
	t.Helper()
	seconds := "5"
	if long() {
		seconds = "70"
	}
	r := machine{packages: machinetest.Packages, proof: "flood", args: []string{"1000"}, files: map[string]string{
		"tables/cron.d/clock": "#@ name=clock every=1s catchup=all:1000\n* * * * * root echo tick >>/lab/out/ticks\n",
		"tables/users/bob":    "#@ name=yes\n0 0 29 2 * timeout " + seconds + " yes noise\n",
	}}.run(t)
	return decodeRuns(t, r.file(t, "idle")), decodeRuns(t, r.file(t, "flood"))
}

// lag is the delay of the slowest start.
func lag(t testing.TB, runs []job.Run) time.Duration {
	t.Helper()
	var slowest time.Duration
	for _, run := range runs {
		slowest = max(slowest, run.Started.Sub(run.Due))
	}
	if slowest <= 0 {
		t.Fatalf("no start was measured: %+v", runs)
	}
	return slowest
}

func decodeRuns(t testing.TB, history string) []job.Run {
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
	t.Parallel()
	machinetest.Need(t)
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

// On a kernel that reports a process's exit status only to its parent, runs that ended without the
// daemon are lost; runs that it watched all the time are not.
func TestRestartsOnOlderKernel(t *testing.T) {
	needLong(t, "the emulated machine takes minutes: CRONRING_LONG=1")
	machinetest.Need(t, "qemu-system-x86_64", "qemu-img")
	const n = 20
	r := restarts(t, "qemu", n, []string{"reload", "restart", "kill"})
	judgeRuns(t, r, "reload", n, false)
	judgeRuns(t, r, "restart", n, true)
	judgeRuns(t, r, "kill", n, true)
}

func restarts(t *testing.T, engine string, n int, actions []string) result {
	var crontab strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&crontab, "#@ name=j%d\n0 0 29 2 * root exec /lab/job %d\n", i, i)
	}
	return machine{
		engine: engine, packages: machinetest.Packages, proof: "restart", args: append([]string{fmt.Sprint(n)}, actions...), limit: 15 * time.Minute,
		files: map[string]string{"tables/cron.d/many": crontab.String(), "job": text(t, filepath.Join(lab, "job"))},
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

// ending is the last action of job i.
func ending(i int) job.Outcome {
	if i%10 == 9 {
		return job.Outcome{Kind: job.Signalled, Signal: 9}
	}
	return job.Outcome{Kind: job.Exited, Code: i % 7}
}
