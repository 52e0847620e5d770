package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/analysis"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/prune"
)

func TestStatsInGroups(t *testing.T) {
	w := newWorld(t, "#@ name=a overlap=skip\n* * * * * ann true\n#@ name=b\n0 0 1 1 * bob true\n")
	live(w, "001   0000200")
	w.Step(event.RunNow{Job: "b", By: "bob"})
	for _, r := range w.View().Runs() {
		if r.Job == "b" {
			w.Start(r.ID)
			w.End(r.ID, 0)
		}
	}
	c := w.client()
	for by, want := range map[string]string{"job": "a b", "user": "ann bob", "hour": "00", "day": w.Now().In(time.UTC).Format(time.DateOnly), "member": "db-01"} {
		st, err := c.Stats(context.Background(), api.StatsQuery{By: by})
		var names []string
		for _, g := range st.Groups {
			names = append(names, g.Name)
		}
		if err != nil || strings.Join(names, " ") != want || st.By != by || st.All.Runs != 11 {
			t.Errorf("by %s: %q, %+v, %v, want %q and 11 runs", by, names, st.All, err, want)
		}
	}
	st, err := c.Stats(context.Background(), api.StatsQuery{Refs: []string{"a"}})
	if err != nil || len(st.Groups) != 1 {
		t.Fatalf("of a: %+v, %v, want one group", st.Groups, err)
	}
	a := st.Groups[0]
	if a.Runs != 10 || a.OK != 8 || a.Failed != 2 || a.Skipped != 3 || a.P50 != time.Second || a.Waste != 5*time.Second {
		t.Errorf("%+v, want 8 of 10 ok, 3 skipped, 5s in vain", a)
	}
	if st, err := c.Stats(context.Background(), api.StatsQuery{Since: w.Now().Add(-2*time.Minute + time.Second)}); err != nil || st.All.Runs != 3 {
		t.Errorf("of the last two minutes: %+v, %v, want three runs", st.All, err)
	}
	if _, err := c.Stats(context.Background(), api.StatsQuery{By: "moon"}); api.KindOf(err) != api.Usage {
		t.Errorf("by moon: %v, want a usage error", err)
	}
}

// Statistics read from blocks equal those of rows, in each kind of groups, and for the user of a
// job as well as for root.
func TestStatsOfBlocksEqualThoseOfRows(t *testing.T) {
	w := newWorld(t, "#@ name=a grace=2s\n* * * * * ann true\n#@ name=b\n* * * * * bob true\n")
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	const runs = 5000
	var counted, skipped int
	batch := store.Batch{At: w.Now()}
	for n := range runs {
		at := w.Now().Add(time.Duration(n-runs) * time.Minute)
		r := job.Run{
			ID: job.RunID(n + 1), Job: []job.ID{"a", "b", "gone"}[n%3], User: []string{"ann", "bob", "root"}[n%3], Due: at, Decided: at,
			Started: at.Add(time.Duration(n%5) * time.Second), Ended: at.Add(time.Duration(10+n%97) * time.Second), Attempt: 1,
			Trigger: job.TriggerClock, State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited, Code: n % 4 / 3},
			Verdict: []job.Verdict{job.VerdictOK, job.VerdictFail, job.VerdictRetry, "", job.VerdictSkip, job.VerdictLeft}[n%6],
			Usage:   job.Usage{CPU: time.Duration(n), Memory: int64(n) << 10},
		}
		switch n % 50 {
		case 0:
			r.Due, r.Trigger = time.Time{}, job.TriggerManual
		case 1:
			r.State, r.Started, r.Ended, r.Outcome = job.RunDropped, time.Time{}, time.Time{}, job.Outcome{}
		case 2: // the clock was set back
			r.Ended = r.Started.Add(-time.Hour)
		case 3:
			if r.Job != "gone" {
				skipped += 2
			}
			batch.Records = append(batch.Records, job.Record{
				At: at, Kind: job.Decided, Job: r.Job, User: r.User, Due: at.Add(time.Second), Count: 2, Decision: job.DecideSkip, Reason: job.Overlapping,
			})
		}
		if r.State == job.RunEnded && (r.OK() || r.Failed() && r.Verdict != job.VerdictRetry) {
			counted++
		}
		batch.Records = append(batch.Records, job.Record{At: at, Kind: job.Ended, Job: r.Job, Run: &r})
	}
	if err := history.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	c := api.Dial(w.serveStore(history))
	defer c.Close()
	answers := func() (list []string) {
		for _, by := range []string{"job", "user", "hour", "day", "member"} {
			for _, refs := range [][]string{nil, {"a"}} {
				for _, since := range []time.Duration{time.Hour, 1700 * time.Minute, 100 * time.Hour} {
					st, err := c.Stats(t.Context(), api.StatsQuery{By: by, Refs: refs, Since: w.Now().Add(-since)})
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, fmt.Sprintf("%+v", st))
				}
			}
		}
		return list
	}
	want := answers()
	if _, err := history.Prune(t.Context(), w.Now(), prune.Policy{}); err != nil { // makes the blocks
		t.Fatal(err)
	}
	for i, got := range answers() {
		if got != want[i] {
			t.Errorf("from blocks:\n%s\nfrom rows:\n%s", got, want[i])
		}
	}
	if st, err := c.Stats(t.Context(), api.StatsQuery{}); err != nil || st.All.Runs != counted || st.All.Skipped != skipped {
		t.Errorf("%+v, %v, want %d runs, and %d skipped", st.All, err, counted, skipped)
	}
}

// Statistics that leave out old skips leave out the runs of that time, too, and begin later.
func TestStatsBeginWhereTheyCountAll(t *testing.T) {
	w := newWorld(t, "#@ name=a\n* * * * * ann true\n")
	live(w, "000")
	oldest := w.Now()
	for n := range analysis.StatsSkips + 1 {
		w.AddFacts(job.Record{
			At: oldest.Add(time.Duration(n)), Kind: job.Decided, Job: "a", User: "ann", Due: oldest.Add(time.Duration(n)), Decision: job.DecideSkip,
		})
	}
	w.Pass(time.Second)
	st, err := w.client().Stats(context.Background(), api.StatsQuery{})
	if err != nil || st.All.Skipped != analysis.StatsSkips || st.All.Runs != 0 || !st.Since.Equal(oldest.Add(1)) {
		t.Errorf("since %s: %+v, %v, want no runs and %d skips since %s", st.Since, st.All, err, analysis.StatsSkips, oldest.Add(1))
	}
}
