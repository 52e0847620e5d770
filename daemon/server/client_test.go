package server

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

const etlCrontab = `
#@ name=etl-orders
*/5 * * * * etl /opt/etl/run orders
#@ name=etl-nightly overlap=skip
0,30 2 * * * etl /opt/etl/run nightly
#@ name=certbot retry=1 backoff=10s
17 3 * * * root certbot renew
#@ name=old enabled=no
* * * * * root true
61 2 * * * etl broken
`

func states(jobs []job.Status) string {
	var list []string
	for _, st := range jobs {
		list = append(list, string(st.Job.ID)+":"+string(st.State))
	}
	return strings.Join(list, " ")
}

func TestListSortsBySeverity(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.To("2026-11-20T02:00:00Z") // etl-nightly and etl-orders are due
	for _, r := range w.AllRuns() {
		w.Start(r.ID)
		if r.Job == "etl-orders" {
			w.End(r.ID, 3)
		}
	}
	w.Step(event.Pause{Job: "certbot", Hold: job.Hold{By: "root"}})
	c := w.client()
	for _, test := range []struct {
		query api.Query
		want  string
	}{
		{api.Query{}, "etl-orders:failing etl-nightly:running certbot:paused old:disabled"},
		{api.Query{Refs: []string{"etl-*"}}, "etl-orders:failing etl-nightly:running"},
		{api.Query{Refs: []string{"@failed"}}, "etl-orders:failing"},
		{api.Query{Refs: []string{"@running"}}, "etl-nightly:running"},
		{api.Query{Refs: []string{"@paused", "certbot"}}, "certbot:paused"},
		{api.Query{Refs: []string{"@late"}}, ""},
		{api.Query{Refs: []string{"etl:5"}}, "etl-nightly:running"},
		{api.Query{Refs: []string{"/etc/cron.d/etl:5"}}, "etl-nightly:running"},
		{api.Query{States: []job.State{job.StateHeld}}, ""},
		{api.Query{User: "root"}, "certbot:paused old:disabled"},
		{api.Query{Crontab: "etl", States: []job.State{job.StatePaused, job.StateDisabled}}, "certbot:paused old:disabled"},
	} {
		jobs, err := c.List(context.Background(), test.query)
		if err != nil || states(jobs) != test.want {
			t.Errorf("List(%+v): %q, %v, want %q", test.query, states(jobs), err, test.want)
		}
	}
}

func TestQueuedRunIsLateAfterGrace(t *testing.T) {
	w := newWorld(t, "#@ name=slow overlap=queue grace=2m\n* * * * * root true\n")
	w.To("2026-11-20T00:01:00Z")
	w.Start(1)
	c := w.client()
	for _, step := range []struct{ at, want string }{
		{"2026-11-20T00:02:00Z", "slow:running"},
		{"2026-11-20T00:04:01Z", "slow:late"},
	} {
		w.To(step.at)
		if jobs, err := c.List(context.Background(), api.Query{}); err != nil || states(jobs) != step.want {
			t.Errorf("at %s: %q, %v, want %q", step.at, states(jobs), err, step.want)
		}
	}
}

func TestNoSuchJobSuggests(t *testing.T) {
	c := newWorld(t, etlCrontab).client()
	for _, test := range []struct{ ref, what, why, fix string }{
		{"etl-order", `cannot show "etl-order": no such job`, `4 jobs are loaded from 1 file, none matches; nearest is "etl-orders"`, "cronring show etl-orders    or list: cronring list"},
		{"nightly", `cannot show "nightly": no such job`, `4 jobs are loaded from 1 file, none matches; nearest is "etl-nightly"`, "cronring show etl-nightly    or list: cronring list"},
		{"zzzzzzzz", `cannot show "zzzzzzzz": no such job`, "4 jobs are loaded from 1 file, none matches", "cronring list"},
		{"etl:4", `cannot show "etl:4": no such job`, "4 jobs are loaded from 1 file, none matches", "cronring list --file /etc/cron.d/etl"},
		{"/etc/cron.d/etl", `cannot show "/etc/cron.d/etl": no such job`, "4 jobs are loaded from 1 file, none matches", "cronring list --file /etc/cron.d/etl"},
		{"other:4", `cannot show "other:4": no such job`, "4 jobs are loaded from 1 file, none matches", "cronring list"},
	} {
		_, err := c.Show(context.Background(), test.ref)
		e, ok := err.(*api.Error)
		if !ok || e.What != test.what || e.Why != test.why || e.Fix != test.fix || e.Kind != api.NotFound {
			t.Errorf("Show(%q):\ngot  %+v\nwant %+v", test.ref, err, test)
		}
	}
	if _, err := c.Show(context.Background(), "etl*"); api.KindOf(err) != api.Usage {
		t.Errorf("Show of two jobs: %v, want a usage error", err)
	}
}

func TestNoSuchJobNamesThoseOfTheAccount(t *testing.T) {
	c := newWorld(t, "#@ name=one\n0 1 * * * ann true\n#@ name=two\n0 1 * * * bob true\n#@ name=three\n0 2 * * * bob true\n").client()
	for account, want := range map[string][2]string{
		"ann": {"ann is a user, and the job is one", "cronring why one"},
		"bob": {"bob is a user, and the jobs are two, three", "cronring list --user bob"},
	} {
		_, err := c.Why(context.Background(), account, time.Time{})
		if e, ok := err.(*api.Error); !ok || e.Why != want[0] || e.Fix != want[1] || e.Kind != api.NotFound {
			t.Errorf("why %s: got %+v, want %q", account, err, want)
		}
	}
}

func TestRunReferences(t *testing.T) {
	w := newWorld(t, "#@ name=a\n* * * * * root true\n")
	for i, code := range []int{0, 3, 0, 0} { // runs 1 to 4, the last of them live
		w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
		w.Start(job.RunID(i + 1))
		if i < 3 {
			w.End(job.RunID(i+1), code)
		}
	}
	c := w.client()
	for ref, want := range map[string]job.RunID{
		"2": 2, "a": 4, "a@last": 4, "a@-1": 4, "a@-2": 3, "a@failed": 2, "etl:2@last": 4,
	} {
		r, err := c.OneRun(context.Background(), ref)
		if err != nil || r.ID != want {
			t.Errorf("run %q: %d, %v, want %d", ref, r.ID, err, want)
		}
	}
	for ref, want := range map[string]api.Kind{
		"99": api.NotFound, "0": api.Usage, "a@-9": api.NotFound, "a@-0": api.Usage, "": api.Usage, "b@last": api.NotFound,
	} {
		if r, err := c.OneRun(context.Background(), ref); api.KindOf(err) != want || err == nil {
			t.Errorf("run %q: %+v, %v, want %s", ref, r, err, want)
		}
	}
}

func TestRunPauseResumeStop(t *testing.T) {
	w := newWorld(t, etlCrontab)
	c, ctx := w.client(), context.Background()
	runs, err := c.Run(ctx, api.RunRequest{Refs: []string{"etl-nightly"}})
	if err != nil || len(runs) != 1 || runs[0].Trigger != job.TriggerManual || runs[0].By != caller {
		t.Fatalf("Run: %+v, %v", runs, err)
	}
	if _, err := c.Run(ctx, api.RunRequest{Refs: []string{"etl-nightly"}}); api.KindOf(err) != api.Conflict {
		t.Errorf("Run while overlap=skip forbids it: %v, want a conflict", err)
	}
	if _, err := c.Run(ctx, api.RunRequest{Refs: []string{"etl-nightly"}, Force: true}); err != nil {
		t.Errorf("Run with Force: %v", err)
	}
	w.Start(1)
	if stopped, err := c.Stop(ctx, api.StopRequest{Refs: []string{"1", "etl-nightly"}}); err != nil || len(stopped) != 3 {
		t.Errorf("Stop: %+v, %v, want run 1, then runs 1 and 2", stopped, err)
	}
	if ids, err := c.Pause(ctx, api.PauseRequest{Refs: []string{"etl*"}, Reason: "move"}); err != nil || !slices.Equal(ids, []job.ID{"etl-orders", "etl-nightly"}) {
		t.Errorf("Pause: %v, %v", ids, err)
	}
	if _, err := c.Pause(ctx, api.PauseRequest{Refs: []string{"old"}, Until: time.Date(timetable.LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)}); api.KindOf(err) != api.Usage {
		t.Errorf("Pause beyond the last year: %v, want a usage error", err)
	}
	if _, err := c.Pause(ctx, api.PauseRequest{Refs: []string{"old"}, Until: w.Now()}); api.KindOf(err) != api.Usage {
		t.Errorf("Pause until now: %v, want a usage error", err)
	}
	if _, err := c.Run(ctx, api.RunRequest{Refs: []string{"etl-orders"}}); api.KindOf(err) != api.Conflict || !strings.Contains(err.Error(), "move") {
		t.Errorf("Run while paused: %v, want a conflict with the pause's reason", err)
	}
	if ids, err := c.Resume(ctx, api.ResumeRequest{Refs: []string{"@paused"}}); err != nil || len(ids) != 2 {
		t.Errorf("Resume: %v, %v", ids, err)
	}
	if _, err := c.Resume(ctx, api.ResumeRequest{Refs: []string{"@paused"}}); api.KindOf(err) != api.NotFound {
		t.Errorf("Resume of an empty set: %v, want not-found", err)
	}
	if _, err := c.Stop(ctx, api.StopRequest{}); api.KindOf(err) != api.Usage {
		t.Errorf("Stop of nothing: %v, want a usage error", err)
	}
	for what, r := range map[string]api.StopRequest{
		"no such signal": {Refs: []string{"1"}, Signal: "SEGV"}, "a number": {Refs: []string{"1"}, Signal: "9"},
		"a time below nothing": {Refs: []string{"1"}, KillAfter: -time.Second}, "a time for ever": {Refs: []string{"1"}, KillAfter: 25 * time.Hour},
		"the longest time": {Refs: []string{"1"}, KillAfter: math.MaxInt64},
	} {
		if _, err := c.Stop(ctx, r); api.KindOf(err) != api.Usage {
			t.Errorf("Stop with %s: %v, want a usage error", what, err)
		}
	}
	stopped, err := c.Stop(ctx, api.StopRequest{Refs: []string{"1"}, Signal: "SIGHUP", KillAfter: time.Minute})
	if err != nil || len(stopped) != 1 || stopped[0].Stop == nil || stopped[0].Stop.Detail().Words() != "by "+caller+": HUP, KILL after 1m0s" {
		t.Errorf("Stop with HUP: got %+v, %v, want run 1 with how it is stopped", stopped, err)
	}
	if _, err := c.Run(ctx, api.RunRequest{Refs: []string{"certbot"}, Env: []string{"CRONRING_JOB=x"}}); api.KindOf(err) != api.Usage {
		t.Errorf("Run with a forged variable: %v, want a usage error", err)
	}
	if runs, err := c.Run(ctx, api.RunRequest{Refs: []string{"certbot"}, Env: []string{"A=b"}}); err != nil || len(runs) != 1 || !slices.Equal(runs[0].Env, []string{"A=b"}) {
		t.Errorf("Run with a variable: got %+v, %v, want one run that has it", runs, err)
	}
	w.Step(event.Drain{})
	if _, err := c.Run(ctx, api.RunRequest{Refs: []string{"etl-orders"}}); api.KindOf(err) != api.Conflict {
		t.Errorf("Run while draining: %v, want a conflict", err)
	}
}

// What is refused for one job does not keep it from the others.
func TestPartialRefusalSaysWhatWasDone(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.Step(event.Pause{Job: "etl-orders", Hold: job.Hold{By: "root"}})
	_, err := w.client().Resume(context.Background(), api.ResumeRequest{Refs: []string{"etl-nightly", "etl-orders"}})
	if e, ok := err.(*api.Error); !ok || e.Kind != api.Conflict || !strings.Contains(e.Why, "done for etl-orders") {
		t.Errorf("Resume of one that is not paused: %v, want a conflict that says what was done", err)
	}
}

func TestRunWaitFollowsRetries(t *testing.T) {
	w := newWorld(t, etlCrontab)
	c := w.client()
	type result struct {
		Runs []job.Run
		Err  error
	}
	done := make(chan result)
	go func() {
		runs, err := c.Run(patient(t), api.RunRequest{Refs: []string{"certbot"}, Wait: true})
		done <- result{runs, err}
	}()
	awaitSubscriber(t, w, done)
	waitFor(t, w, job.Decided)
	w.Start(1)
	w.End(1, 1)
	waitFor(t, w, job.Queued)
	w.To("2026-11-20T00:02:00Z") // the retry is due
	w.Start(2)
	w.End(2, 0)
	r := await(t, "the run's end", done)
	if r.Err != nil || len(r.Runs) != 1 || r.Runs[0].ID != 2 || !r.Runs[0].Outcome.OK() {
		t.Errorf("Run with Wait: %+v, %v, want the second attempt", r.Runs, r.Err)
	}
}

// waitFor returns when a fact of that kind is there.
func waitFor(t *testing.T, w *world, kind job.RecordKind) {
	t.Helper()
	events := w.Subscribe(patient(t))
	has := func(r job.Record) bool { return r.Kind == kind }
	if slices.ContainsFunc(w.Facts(), has) {
		return
	}
	for e := range events {
		if e.Record != nil && has(*e.Record) {
			return
		}
	}
	t.Fatalf("no fact of kind %q came", kind)
}

func TestRunWaitEndsWithDaemon(t *testing.T) {
	w := newWorld(t, etlCrontab)
	c := w.client()
	done := make(chan error)
	go func() {
		_, err := c.Run(patient(t), api.RunRequest{Refs: []string{"certbot"}, Wait: true})
		done <- err
	}()
	awaitSubscriber(t, w, done)
	waitFor(t, w, job.Decided)
	w.Close()
	if err := await(t, "the answer", done); api.KindOf(err) != api.Conflict {
		t.Errorf("Run with Wait while the daemon stops: %v, want a conflict", err)
	}
}

func TestHistoryFilters(t *testing.T) {
	w := newWorld(t, "#@ name=a\n* * * * * root true\n#@ name=b overlap=skip\n* * * * * root true\n")
	w.To("2026-11-20T00:03:00Z") // a: 1 3 4; b: 2, then skipped twice
	for _, id := range []job.RunID{1, 3} {
		w.Start(id)
		w.End(id, int(id)-1)
	}
	c := w.client()
	for _, test := range []struct {
		filter api.Filter
		want   []job.RunID
	}{
		{api.Filter{}, []job.RunID{4, 3, 2, 1}},
		{api.Filter{Refs: []string{"a"}}, []job.RunID{4, 3, 1}},
		{api.Filter{Failed: true}, []job.RunID{3}},
		{api.Filter{Live: true}, []job.RunID{4, 2}},
		{api.Filter{Live: true, Refs: []string{"a"}}, []job.RunID{4}},
		{api.Filter{Live: true, Limit: 1}, []job.RunID{4}},
		{api.Filter{Limit: 1}, []job.RunID{4}},
		{api.Filter{Before: 3}, []job.RunID{2, 1}},
		{api.Filter{Since: w.Now().Add(-time.Minute)}, []job.RunID{4, 3}},
		{api.Filter{Trigger: job.TriggerManual}, nil},
	} {
		found, err := c.History(context.Background(), test.filter)
		var got []job.RunID
		for _, r := range found.Runs {
			got = append(got, r.ID)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("History(%+v): %v, %v, want %v", test.filter, got, err, test.want)
		}
	}
	found, err := c.History(context.Background(), api.Filter{Skipped: true})
	if err != nil || len(found.Skipped) != 2 || found.Skipped[0].Due.Before(found.Skipped[1].Due) {
		t.Errorf("History of skips: %+v, %v, want two of b, newest first", found.Skipped, err)
	}
}

func TestHistoryOfEveryKindOfSkip(t *testing.T) {
	w := newWorld(t, `
#@ name=overlapping overlap=skip
*/2 * * * * ann true
#@ name=queued overlap=queue deadline=1m
*/2 * * * * ann true
#@ name=skips-itself skip-code=75
*/2 * * * * ann true
`)
	for _, minute := range []string{"02", "04"} {
		w.To("2026-11-20T00:" + minute + ":00Z")
		for _, r := range w.View().Runs() {
			if r.State == job.RunDecided {
				w.Start(r.ID)
			}
			if r.Job == "skips-itself" {
				w.End(r.ID, 75)
			}
		}
	}
	w.To("2026-11-20T00:05:30Z")
	for _, r := range w.View().Runs() {
		if r.Job == "queued" && r.State == job.RunRunning {
			w.End(r.ID, 0) // too late for the queued run
		}
	}
	for _, filter := range []api.Filter{{Skipped: true}, {Skipped: true, Refs: []string{"*"}}} {
		found, err := w.client().History(context.Background(), filter)
		got := map[string]int{}
		for _, r := range found.Skipped {
			got[fmt.Sprintf("%s: %s", r.Job, cmp.Or(string(r.Reason), r.Words()))]++
		}
		want := map[string]int{
			"overlapping: overlapping": 1, "queued: past-deadline": 1, "skips-itself: exit 75 (counts as skipped)": 2,
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%+v: %v, %v, want %v", filter, got, err, want)
		}
	}
}

func TestHistoryOfRemovedJob(t *testing.T) {
	w := newWorld(t, "#@ name=gone\n* * * * * root true\n")
	w.To("2026-11-20T00:01:00Z")
	w.Load("0 0 1 1 * root true\n")
	c := w.client()
	if found, err := c.History(context.Background(), api.Filter{Refs: []string{"gone"}}); err != nil || len(found.Runs) != 1 {
		t.Errorf("History: %+v, %v, want the one run", found, err)
	}
	if _, err := c.History(context.Background(), api.Filter{Refs: []string{"never"}}); api.KindOf(err) != api.NotFound {
		t.Errorf("History of a job that never was: %v, want not-found", err)
	}
}

// TestDamagedHistoryInPlainWords: the messages of SQLite do not help an administrator.
func TestDamagedHistoryInPlainWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	filetest.Write(t, path, strings.Repeat("not a database\n", 100), 0o600)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, sqliteErr := db.Exec("CREATE TABLE t (a)")
	w := newWorld(t, etlCrontab)
	w.Broken = fmt.Errorf("read a row: %w", sqliteErr)
	c := w.client()
	st, err := c.Status(t.Context())
	if err != nil || len(st.Problems) == 0 || st.Problems[0].Why != "the history is damaged" || !strings.HasPrefix(st.Problems[0].Fix, "restart cronringd: ") {
		t.Errorf("Status: %+v, %v, want that the history is damaged", st.Problems, err)
	}
	if _, err := c.List(t.Context(), api.Query{}); err == nil || !strings.HasSuffix(err.Error(), ": the history is damaged") {
		t.Errorf("List: %v, want that the history is damaged", err)
	}
}

// An error of a file keeps its name: the history may be on another disk.
func TestErrorOfAFileKeepsItsWords(t *testing.T) {
	err := &fs.PathError{Op: "write", Path: "/c/bob", Err: syscall.ENOSPC}
	if got := call.AsError(err).Why; got != err.Error() {
		t.Errorf("got %q, want %q", got, err)
	}
}

func TestStatusWhenHistoryIsUnreadable(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.Broken = context.DeadlineExceeded
	c := w.client()
	st, err := c.Status(context.Background())
	if err != nil || len(st.Problems) == 0 || st.Jobs != 4 {
		t.Errorf("Status: %+v, %v, want all jobs and a problem", st, err)
	}
	if _, err := c.List(context.Background(), api.Query{}); err == nil || api.KindOf(err) != api.Internal {
		t.Errorf("List: %v, want an internal error rather than wrong states", err)
	}
}
