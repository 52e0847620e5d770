package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/monitoring"
)

var (
	familyLine = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+)$`)
	labelPart  = regexp.MustCompile(`([a-z]+)="((?:[^"\\]|\\.)*)"`)
)

// readMetrics checks the format of a text and the conventions of its names. It returns the samples
// by name and labels without node.
func readMetrics(t *testing.T, text, node string) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	kinds := map[string]string{}
	family, helped := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := familyLine.FindStringSubmatch(line); m != nil {
			switch {
			case m[1] == "HELP":
				if helped = m[2]; !strings.HasSuffix(m[3], ".") || kinds[m[2]] != "" {
					t.Errorf("%q: is no sentence, or the family is there twice", line)
				}
			case m[2] != helped:
				t.Errorf("%q comes after the help of %q", line, helped)
			default:
				family, kinds[m[2]] = m[2], m[3]
				if (m[3] == "counter") != strings.HasSuffix(family, "_total") || !strings.HasPrefix(family, "cronring_") {
					t.Errorf("%q is no name of a %s", family, m[3])
				}
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no sample", line)
		}
		name := m[1]
		if kinds[family] == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if name != family || err != nil {
			t.Errorf("%q stands in the family %s: %v", line, family, err)
		}
		var labels []string
		names := map[string]bool{}
		for _, l := range labelPart.FindAllStringSubmatch(m[2], -1) {
			if names[l[1]] {
				t.Errorf("%q has a label twice", line)
			}
			if names[l[1]] = true; l[1] != "host" {
				labels = append(labels, l[0])
			} else if l[2] != node {
				t.Errorf("%q is of %q, want %q", line, l[2], node)
			}
		}
		if !names["host"] {
			t.Errorf("%q has no node", line)
		}
		key := strings.TrimPrefix(m[1], "cronring_")
		if len(labels) > 0 {
			key += "{" + strings.Join(labels, ",") + "}"
		}
		if _, twice := samples[key]; twice {
			t.Errorf("%q is there twice", line)
		}
		samples[key] = value
	}
	return samples
}

// metrics requests the metrics as a user.
func (w *world) metrics(s *Server, uid uint32, query string) map[string]float64 {
	w.t.Helper()
	status, text := w.walkOn(s, uid, "GET", "/v1/metrics", walked{query: query})
	if status != 200 {
		w.t.Fatalf("status %d: %s", status, text)
	}
	return readMetrics(w.t.(*testing.T), text, "db-01")
}

func wantSamples(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if v, ok := got[key]; !ok || v != want[key] {
			t.Errorf("%s: got %v (%v), want %v", key, v, ok, want[key])
		}
	}
}

func wantNone(t *testing.T, got map[string]float64, part string) {
	t.Helper()
	for key := range got {
		if strings.Contains(key, part) {
			t.Errorf("got %s, want none with %q", key, part)
		}
	}
}

const metricsCrontab = `#@ name=good
* * * * * ann true
#@ name=bad
* * * * * bob false
#@ name=off enabled=no
* * * * * ann true
#@ name=long overlap=skip
* * * * * ann sleep 90
`

// livedMetrics is a world after two minutes: in each, good succeeds and bad fails, and long runs
// all the time.
func livedMetrics(t *testing.T) (*world, *Server) {
	w := newWorld(t, metricsCrontab)
	s := w.server()
	for _, to := range []string{"2026-11-20T00:01:00Z", "2026-11-20T00:02:00Z"} {
		w.To(to)
		for _, r := range w.View().Runs() {
			if r.State != job.RunDecided {
				continue
			}
			w.Set(w.Now().Add(20*time.Millisecond), 0)
			w.Start(r.ID)
			switch r.Job {
			case "good":
				w.End(r.ID, 0)
			case "bad":
				w.End(r.ID, 3)
			}
		}
	}
	return w, s
}

func TestMetricsOfAHost(t *testing.T) {
	w, s := livedMetrics(t)
	w.Problems = []api.Problem{{What: "the log takes nothing"}}
	got := w.metrics(s, 0, "")
	wantSamples(t, got, map[string]float64{
		"up": 1, "start_time_seconds": float64(instant(t, firstUp).Unix()), "draining": 0, "history_readable": 1,
		`jobs{state="failing"}`: 1, `jobs{state="running"}`: 1, `jobs{state="ok"}`: 1, `jobs{state="disabled"}`: 1, `jobs{state="late"}`: 0,
		`live_runs{state="running"}`: 1, `live_runs{state="queued"}`: 0,
		`runs_total{outcome="ok"}`: 2, `runs_total{outcome="failed"}`: 2, `runs_total{outcome="lost"}`: 0,
		`skips_total{reason="overlapping"}`: 1, `skips_total{reason="disabled"}`: 2,
		`start_lag_seconds_count`: 5, `start_lag_seconds_bucket{le="+Inf"}`: 5, `start_lag_seconds_bucket{le="0.005"}`: 0,
		"problems": 1, "mail_queue_letters": 3, "notice_queue_messages": 2, "history_bytes": 4096, "crontabs": 1,
		`build_info{version="1.2.3",goversion="` + runtime.Version() + `"}`: 1,
	})
	if got["resident_memory_bytes"] < 1<<20 || got["cpu_seconds_total"] <= 0 {
		t.Errorf("memory %v, processors %v; want some", got["resident_memory_bytes"], got["cpu_seconds_total"])
	}
	wantNone(t, got, "job=")
	wantNone(t, got, "ring_")
}

func TestMetricsOfJobs(t *testing.T) {
	w, s := livedMetrics(t)
	got := w.metrics(s, 0, "jobs=true")
	end := float64(instant(t, "2026-11-20T00:02:00Z").Unix())
	const good, bad, long = `{job="good",user="ann"}`, `{job="bad",user="bob"}`, `{job="long",user="ann"}`
	wantSamples(t, got, map[string]float64{
		"job_last_run_success" + good: 1, "job_last_run_success" + bad: 0, "job_failed_in_row" + good: 0, "job_failed_in_row" + bad: 2,
		`job_runs_total{job="good",user="ann",outcome="ok"}`: 2, `job_runs_total{job="bad",user="bob",outcome="failed"}`: 2,
		`job_runs_total{job="long",user="ann",outcome="ok"}`: 0, `job_skips_total{job="long",user="ann",reason="overlapping"}`: 1,
		"job_next_timestamp_seconds" + good: end + 60, "jobs_left_out": 0,
	})
	for name, seen := range map[string]bool{
		"job_last_success_timestamp_seconds" + good: true, "job_last_success_timestamp_seconds" + bad: false,
		"job_last_run_timestamp_seconds" + bad: true, "job_last_run_timestamp_seconds" + long: false,
		"job_last_run_duration_seconds" + bad: true, `job_next_timestamp_seconds{job="off",user="ann"}`: false,
	} {
		if v, ok := got[name]; ok != seen || ok && strings.Contains(name, "timestamp") && (v < end || v > end+1) {
			t.Errorf("%s: got %v (%v), want one: %v", name, v, ok, seen)
		}
	}
	one := w.metrics(s, 0, "jobs=true&job=ba*")
	wantNone(t, one, "good")
	wantSamples(t, one, map[string]float64{"job_failed_in_row" + bad: 2})
}

func TestMetricsTellOfSuccessesBeforeTheDaemon(t *testing.T) {
	w, _ := livedMetrics(t)
	w.Load("#@ name=good\n* * * * * ann true\n")
	w.To("2026-11-20T00:03:00Z")
	w.Start(w.View().Runs()[0].ID)
	for _, r := range w.View().Runs() {
		w.End(r.ID, 1)
	}
	got := w.metrics(w.server(), 0, "jobs=true") // which has seen nothing of it
	success := got[`job_last_success_timestamp_seconds{job="good",user="ann"}`]
	if want := float64(instant(t, "2026-11-20T00:02:00Z").Unix()); success < want || success > want+1 {
		t.Errorf("success at %v, want %v", success, want)
	}
	wantSamples(t, got, map[string]float64{
		`job_last_run_success{job="good",user="ann"}`: 0, `job_failed_in_row{job="good",user="ann"}`: 1,
		`job_runs_total{job="good",user="ann",outcome="ok"}`: 0,
	})
}

func TestMetricsOfAnAccountAreItsOwn(t *testing.T) {
	w, s := livedMetrics(t)
	got := w.metrics(s, bobUID, "jobs=true")
	wantSamples(t, got, map[string]float64{
		"up": 1, `jobs{state="failing"}`: 1, `jobs{state="running"}`: 0, `jobs{state="ok"}`: 0, `live_runs{state="running"}`: 0,
		`job_runs_total{job="bad",user="bob",outcome="failed"}`: 2,
	})
	for _, others := range []string{"ann", "good", "long", "runs_total{outcome", "mail", "resident", "problems", "skips_total{reason", "lag"} {
		wantNone(t, got, others)
	}
	if status, text := w.walkOn(s, bobUID, "GET", "/v1/metrics", walked{query: "jobs=true&job=good"}); status != 404 {
		t.Errorf("another's job: got %d %s, want 404", status, text)
	}
	if nothing := w.metrics(s, noneUID, "jobs=true"); nothing[`jobs{state="failing"}`] != 0 || nothing["up"] != 1 {
		t.Errorf("nobody: got %v, want that the daemon is up", nothing)
	}
	// If a name now belongs to another user, its metrics do not contain the previous user's runs.
	w.Load("#@ name=good\n* * * * * bob true\n")
	wantSamples(t, w.metrics(s, bobUID, "jobs=true"), map[string]float64{
		`job_runs_total{job="good",user="bob",outcome="ok"}`: 0, `job_failed_in_row{job="good",user="bob"}`: 0,
	})
	wantNone(t, w.metrics(s, bobUID, "jobs=true"), "job_last")
}

func TestMetricsOfManyJobsAreBounded(t *testing.T) {
	w := newWorld(t, manyLines(monitoring.MaxJobs+7))
	got := w.metrics(w.server(), 0, "jobs=true")
	each := 0
	for key := range got {
		if strings.HasPrefix(key, "job_failed_in_row") {
			each++
		}
	}
	if each != monitoring.MaxJobs || got["jobs_left_out"] != 7 {
		t.Errorf("%d jobs, %v left out; want %d and 7", each, got["jobs_left_out"], monitoring.MaxJobs)
	}
}

func TestMetricsWithoutHistory(t *testing.T) {
	w := newWorld(t, metricsCrontab)
	s := w.server()
	w.Broken = errors.New("the disk is gone")
	got := w.metrics(s, 0, "jobs=true")
	wantSamples(t, got, map[string]float64{"up": 1, "history_readable": 0})
	wantNone(t, got, "jobs{")
	w.Broken = nil
	wantSamples(t, w.metrics(s, 0, ""), map[string]float64{"history_readable": 1, `jobs{state="new"}`: 3})
}

func TestMetricsOfARing(t *testing.T) {
	w := newWorld(t, metricsCrontab)
	w.ring = ringOfThree()
	w.ring.status.Members[0].Owns, w.ring.status.Jobs, w.ring.status.Unowned, w.ring.status.Joined = 5, 12, 1, true
	w.ring.status.Claims = api.Claims{Granted: 40, Refused: 2, Unknown: 1}
	s := w.server()
	w.TapFacts(job.Record{Kind: job.Doubled, Job: "good", At: w.Now()})
	got := w.metrics(s, 0, "")
	wantSamples(t, got, map[string]float64{
		`ring_members{state="up"}`: 3, `ring_members{state="left"}`: 1, `ring_members{state="down"}`: 0,
		"ring_joined": 1, "ring_barred": 0, "ring_jobs": 12, "ring_jobs_owned": 5, "ring_jobs_unowned": 1, "ring_undecided_occurrences": 0,
		`ring_claims_total{answer="granted"}`: 40, `ring_claims_total{answer="refused"}`: 2, `ring_claims_total{answer="unknown"}`: 1,
		"ring_doubled_total": 1,
	})
	wantNone(t, got, "quorum")
	w.ring.status.Quorum, w.ring.status.Held = 2, "its clock is off"
	w.ring.status.Voters = []api.Voter{{ID: "a", Up: true}, {ID: "b"}, {ID: "c"}}
	wantSamples(t, w.metrics(s, 0, ""), map[string]float64{"ring_quorum": 0, "ring_barred": 1})
	wantNone(t, w.metrics(s, annUID, ""), "ring_claims")
}

// TestMetricsStandInTheManual holds the page and the program to the same families.
func TestMetricsStandInTheManual(t *testing.T) {
	page, err := os.ReadFile("../../man/cronring-metrics.7")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\.It Va (cronring_[a-z_]+)`).FindAllStringSubmatch(string(page), -1) {
		told[m[1]] = true
	}
	w, _ := livedMetrics(t)
	w.ring = ringOfThree()
	w.ring.status.Quorum = 2
	_, text := w.walk(0, "GET", "/v1/metrics", walked{query: "jobs=true"})
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		if !told[m[1]] {
			t.Errorf("%s is not in the manual", m[1])
		}
		delete(told, m[1])
	}
	for name := range told {
		t.Errorf("the manual lists %s, which does not exist", name)
	}
}

// countingRecords is a history that counts its reads.
type countingRecords struct {
	*world
	reads int
}

func (s *countingRecords) Records(ctx context.Context, from, to time.Time, limit int) ([]job.Record, error) {
	s.reads++
	return s.world.Records(ctx, from, to, limit)
}

func TestRingReadsDoublesOnce(t *testing.T) {
	w := newWorld(t, metricsCrontab)
	w.ring = ringOfThree()
	w.AddFacts(
		job.Record{Kind: job.Doubled, Job: "good", At: w.Now().Add(-25 * time.Hour)},
		job.Record{Kind: job.Doubled, Job: "good", At: w.Now().Add(-2 * time.Hour)})
	s := &countingRecords{world: w}
	server := w.serverOf(s)
	doubled := func() int {
		t.Helper()
		n, err := server.monitor.DoubledSince(t.Context(), w.Now().Add(-24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	w.TapFacts(job.Record{Kind: job.Doubled, Job: "good", At: w.Now()})
	for range 3 {
		if n := doubled(); n != 2 {
			t.Errorf("%d are doubled, want 2", n)
		}
	}
	w.Set(w.Now().Add(23*time.Hour), 0)
	if n := doubled(); n != 1 {
		t.Errorf("a day later %d are doubled, want 1", n)
	}
	if s.reads != 1 {
		t.Errorf("the history was read %d times, want once", s.reads)
	}
}

func manyLines(n int) string {
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, "0 0 1 1 * ann job %d\n", i)
	}
	return file.String()
}

func BenchmarkMetrics(b *testing.B) {
	w := emptyWorld(b)
	w.Load(manyLines(100_000))
	s := w.server()
	ask := func() {
		if status, text := w.walkOn(s, 0, "GET", "/v1/metrics", walked{}); status != 200 {
			b.Fatal(text)
		}
	}
	ask() // reads the history
	for b.Loop() {
		ask()
	}
}
