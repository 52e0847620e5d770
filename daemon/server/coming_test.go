package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

func comingText(c api.Coming) (lines []string) {
	for _, r := range c.Runs {
		lines = append(lines, r.At.Format("01-02 15:04 ")+string(r.Job))
	}
	return lines
}

func TestComingMergesJobsInOrderOfTime(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.To("2026-11-20T02:20:00Z")
	w.Step(event.Pause{Job: "certbot", Hold: job.Hold{By: "ann", Until: instant(t, "2026-11-21T00:00:00Z")}})
	client := w.client()
	for _, test := range []struct {
		name string
		q    api.ComingQuery
		want []string
	}{
		{"two jobs of one glob", api.ComingQuery{Refs: []string{"etl-*"}, Limit: 4}, []string{
			"11-20 02:25 etl-orders", "11-20 02:30 etl-orders", "11-20 02:30 etl-nightly", "11-20 02:35 etl-orders"}},
		{"paused until a time", api.ComingQuery{Refs: []string{"certbot"}, Limit: 1}, []string{"11-21 03:17 certbot"}},
		{"disabled", api.ComingQuery{Refs: []string{"old"}}, nil},
		{"all", api.ComingQuery{From: instant(t, "2026-11-21T03:16:00Z"), Limit: 2}, []string{"11-21 03:17 certbot", "11-21 03:20 etl-orders"}},
		{"at the beginning itself, not at the end", api.ComingQuery{
			Refs: []string{"etl-nightly"}, From: instant(t, "2026-11-22T02:00:00Z"), Until: instant(t, "2026-11-22T02:30:00Z")}, []string{"11-22 02:00 etl-nightly"}},
		{"ten if nobody says", api.ComingQuery{Refs: []string{"etl-nightly"}, From: instant(t, "2026-11-30T00:00:00Z")}, []string{
			"11-30 02:00 etl-nightly", "11-30 02:30 etl-nightly", "12-01 02:00 etl-nightly", "12-01 02:30 etl-nightly", "12-02 02:00 etl-nightly",
			"12-02 02:30 etl-nightly", "12-03 02:00 etl-nightly", "12-03 02:30 etl-nightly", "12-04 02:00 etl-nightly", "12-04 02:30 etl-nightly"}},
	} {
		c, err := client.Coming(context.Background(), test.q)
		if diff := cmp.Diff(test.want, comingText(c)); err != nil || diff != "" {
			t.Errorf("%s: got %v, difference (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestComingRefusesThePast(t *testing.T) {
	w := newWorld(t, etlCrontab)
	_, err := w.client().Coming(context.Background(), api.ComingQuery{From: w.Now().Add(-time.Hour)})
	if api.KindOf(err) != api.Usage || !strings.Contains(err.Error(), "that is in the past") {
		t.Errorf("coming runs of the past: got %v, want a refusal of kind %s", err, api.Usage)
	}
	if _, err := w.client().Coming(context.Background(), api.ComingQuery{From: w.Now().Add(-time.Second)}); err != nil {
		t.Errorf("coming runs of a caller whose clock is a second behind: got %v, want none", err)
	}
}

func TestComingIsBounded(t *testing.T) {
	w := newWorld(t, "#@ name=j sec=*\n* * * * * ann true\n")
	c, err := w.client().Coming(context.Background(), api.ComingQuery{Limit: math.MaxInt})
	if err != nil || len(c.Runs) != api.MaxComing {
		t.Errorf("runs of a job of each second: got %d and %v, want %d", len(c.Runs), err, api.MaxComing)
	}
}

func TestExplainTellsSharedMinutes(t *testing.T) {
	w := newWorld(t, etlCrontab)
	client := w.client()
	x, err := client.Explain(context.Background(), "etl-nightly", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if x.Shared != 14 || len(x.Clashes) != 3 {
		t.Fatalf("minutes that etl-nightly shares: got %d and %d told, want 14 and 3", x.Shared, len(x.Clashes))
	}
	first := x.Clashes[0]
	if got, want := fmt.Sprintf("%s %d %s %s", first.At.Format("15:04"), first.Starts, first.Jobs, first.Quiet.Format("15:04")), "02:00 2 [etl-orders] 02:01"; got != want {
		t.Errorf("first clash: got %s, want %s", got, want)
	}
	if x.Runs != 730 || x.Year != 2026 {
		t.Errorf("runs: got %d in %d, want 730 in 2026", x.Runs, x.Year)
	}
	alone, err := client.Explain(context.Background(), "certbot", time.Time{})
	if err != nil || alone.Shared != 0 || alone.Clashes != nil {
		t.Errorf("minutes that certbot shares: got %d, %v, %v, want none", alone.Shared, alone.Clashes, err)
	}
	var keys []string
	for _, o := range alone.Options {
		keys = append(keys, o.Key+"="+o.Value)
	}
	if got, want := strings.Join(keys, " "), "name=certbot retry=1 backoff=10s"; got != want {
		t.Errorf("options: got %q, want %q", got, want)
	}
}

// Other users' jobs are hidden from users without access, including in clashes.
func TestExplainHidesOthersJobs(t *testing.T) {
	w := newWorld(t, annsJobs)
	explained := func(uid uint32) (x api.Explanation) {
		_, text := w.walk(uid, "GET", "/v1/explain", walked{query: "job=ann-job"})
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return x
	}
	if x := explained(annUID); x.Job != "ann-job" || x.Shared != 0 {
		t.Errorf("explanation for ann: got job %q, %d shared minutes, want ann-job and 0, as the other job is bob's", x.Job, x.Shared)
	}
	if x := explained(0); x.Shared != 7*24*60 {
		t.Errorf("explanation for root: got %d shared minutes, want each of a week", x.Shared)
	}
}
