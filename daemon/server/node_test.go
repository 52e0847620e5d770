package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/overview"
	"github.com/cronring/cronring/gossip/holders"
)

// About an occurrence of a ring job this host reports its owner, whether this host was the owner,
// and whether another member ran it, too.
func TestWhyOfRingJobs(t *testing.T) {
	w := emptyWorld(t)
	file, _ := crontab.Parse("/etc/cron.d/etl",
		"#@ name=j scope=ring\n0 * * * * ann x\n#@ name=db scope=ring need=role:db\n0 * * * * ann y\n", crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}, Ring: event.Strict})
	due := w.Now().Truncate(time.Hour).Add(time.Hour)
	occurrence := exchange.OccurrenceOf(job.KeyOf("j", "ann"), due)
	why := func(id, step string) string {
		t.Helper()
		status, text := w.walk(0, "GET", "/v1/why", walked{query: "job=" + id + "&at=" + due.Format("2006-01-02T15:04:05Z")})
		var why api.Why
		if err := json.Unmarshal([]byte(text), &why); err != nil || status != 200 {
			t.Fatalf("status %d, %v, %s", status, err, text)
		}
		for _, s := range why.Steps {
			if s.Name == job.StepHost {
				return string(s.State) + ": " + s.Fact + "\n" + strings.Join(why.Facts, "\n")
			}
		}
		t.Fatalf("no step node: %+v", why.Steps)
		return ""
	}
	says := func(id, state, want string) {
		t.Helper()
		if got := why(id, state); !strings.HasPrefix(got, state) || !strings.Contains(got, want) {
			t.Errorf("why of %s says %q, want %s with %q", id, got, state, want)
		}
	}
	says("j", string(api.Passed), "knows nothing of the other members")

	members := func(ids ...string) *holders.Membership {
		m := &holders.Membership{Self: "box"}
		for _, id := range ids {
			m.Members = append(m.Members, holders.Member{ID: id, Name: id, Weight: 1})
		}
		return m
	}
	w.StepRing(holders.Ring{Membership: members("box", "elm")})
	says("db", string(api.Passed), "no member of the ring is allowed to run it (box: need= requires role:db; elm: need= requires role:db)")
	w.StepRing(holders.Ring{Membership: members("box")})
	w.To(due.Format(time.RFC3339))
	w.StepRing(holders.Claimed{Occurrence: occurrence, Grant: holders.Postponed})
	says("j", string(api.Crossed), "the ring has no quorum")
	w.Pass(time.Second)
	w.Step()
	w.StepRing(holders.Claimed{Occurrence: occurrence, Grant: holders.Granted, Token: 9})
	w.Start(1)
	says("j", string(api.Passed), "of the ring's members it was")
	w.StepRing(holders.Changes{Doubled: []holders.Report{{Mark: holders.Mark{Occurrence: occurrence, Run: 7}, Host: "elm"}}})
	says("j", string(api.Passed), "ran on elm too, as run 7: the two members did not see each other")
	if r := w.Facts()[len(w.Facts())-1]; r.Kind != job.Doubled || r.Job != "j" {
		t.Errorf("the newest record is %+v, want that it was doubled", r)
	}
	w.End(1, 0)
	runs, err := w.client().History(t.Context(), api.Filter{})
	if err != nil || len(runs.Runs) != 1 || runs.Runs[0].Doubled != "ran on elm too, as run 7" {
		t.Errorf("the history has %+v, %v, want that the run is doubled", runs, err)
	}
}

// The owner of a past occurrence is that of the members of its time.
func TestWhyByTheMembersOfThatTime(t *testing.T) {
	w := ringWorld(t)
	w.ring = nil // this host alone is asked
	w.To(w.Now().Truncate(time.Hour).Add(90 * time.Minute).Format(time.RFC3339))
	due := w.Now().Truncate(time.Hour)
	i := 0
	for owner, ok := w.View().OwnerThen(i, due); ok && owner.Members[0].Name != "db-02"; owner, ok = w.View().OwnerThen(i, due) {
		i++
	}
	w.StepRing(holders.Ring{Membership: &holders.Membership{Self: "a", Members: []holders.Member{{ID: "a", Name: "db-01", Weight: 1}}}})
	w.Pass(time.Minute)
	w.Step()
	says := func(at time.Time, want string) {
		t.Helper()
		status, text := w.walk(0, "GET", "/v1/why", walked{query: "job=" + string(w.View().ID(i)) + "&at=" + at.Format("2006-01-02T15:04:05Z")})
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("why at %s: status %d, %s; want %q", at, status, text, want)
		}
	}
	says(due, "as the ring was then, it was db-02's; db-01 was next in line")
	says(due.Add(time.Hour), "as the ring is now, it is db-01's, and no other member is allowed to run it")
	for range 300 { // flapping members do not fill the memory
		w.StepRing(holders.Ring{Membership: &holders.Membership{Self: "a", Members: []holders.Member{{ID: "a", Name: "db-01", Weight: 1}, {ID: "b", Name: "db-02", Weight: 1}}}})
		w.StepRing(holders.Ring{Membership: &holders.Membership{Self: "a", Members: []holders.Member{{ID: "a", Name: "db-01", Weight: 1}}}})
	}
	says(due, "does not know which members the ring had then")
}

// ringWorld is a host in a ring of two with some jobs of the ring and one of its own.
func ringWorld(t *testing.T) *world {
	w := emptyWorld(t)
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "#@ name=j%d scope=ring\n0 * * * * ann x%d\n", i, i)
	}
	text.WriteString("#@ name=own\n30 * * * * ann y\n")
	file, _ := crontab.Parse("/etc/cron.d/etl", text.String(), crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}, Ring: event.Available})
	m := &holders.Membership{Self: "a"}
	for id, name := range map[string]string{"a": "db-01", "b": "db-02"} {
		m.Members = append(m.Members, holders.Member{ID: id, Name: name, Weight: 1})
	}
	slices.SortFunc(m.Members, func(x, y holders.Member) int { return cmp.Compare(x.ID, y.ID) })
	w.StepRing(holders.Ring{Membership: m})
	w.ring = ringOfThree()
	w.ring.taken = map[job.Key]job.Elsewhere{}
	return w
}

// TestOwnersAreToldEverywhere checks that all answers about the next runs of a job contain the
// same owner.
func TestOwnersAreToldEverywhere(t *testing.T) {
	w := ringWorld(t)
	client := w.client()
	list, err := client.List(t.Context(), api.Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[job.ID]string{}
	seen := map[string]int{}
	for _, j := range list {
		want[j.Job.ID] = j.Node
		seen[j.Node]++
	}
	if seen["db-01"] == 0 || seen["db-02"] == 0 || seen[""] != 1 || want["own"] != "" {
		t.Fatalf("the list tells %v, want jobs of both members, and one that is this host's own", want)
	}
	coming, err := client.Coming(t.Context(), api.ComingQuery{Limit: 21})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range coming.Runs {
		if r.Node != want[r.Job] {
			t.Errorf("next: %s is %q's, want %q", r.Job, r.Node, want[r.Job])
		}
	}
	st, err := client.Status(t.Context())
	if err != nil || st.Next == nil || st.Next.Node != want[st.Next.Job] {
		t.Errorf("status: next %+v, %v; want it to be that of %q", st.Next, err, want["own"])
	}
	shown, err := client.Show(t.Context(), "j3")
	if err != nil || shown.Node != want["j3"] {
		t.Errorf("show: %q, %v; want %q", shown.Node, err, want["j3"])
	}
	for u, err := range client.Board(patient(t)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range u.Rows {
			if r.Node != want[r.Job] {
				t.Errorf("board: %s is %q's, want %q", r.Job, r.Node, want[r.Job])
			}
		}
		if u.Complete {
			break
		}
	}
}

// TestFailureCountsWhereTheJobRanLast has another member take a job that failed
// here: this host's list, board, status and metrics are not to call it failing for
// ever.
func TestFailureCountsWhereTheJobRanLast(t *testing.T) {
	w := ringWorld(t)
	s := w.server()
	w.Step(event.RunNow{Job: "j3", By: "ann"})
	runs := w.View().Runs()
	if len(runs) != 1 {
		t.Fatalf("%d runs, want the one that was asked for", len(runs))
	}
	w.Start(runs[0].ID)
	w.End(runs[0].ID, 1)
	state := func() (st job.Status, row api.Row, metrics map[string]float64) {
		t.Helper()
		_, text := w.walkOn(s, 0, "GET", "/v1/jobs", walked{query: "job=j3"})
		var list api.Jobs
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Jobs) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		r := w.reader(s, 0)
		r.round()
		row = r.rows["j3"]
		if again := r.board.Soonest().Sub(w.Now()); row.State == job.StateFailing && again > overview.LongIdle {
			t.Errorf("the row is looked at again in %s, want within %s", again, overview.LongIdle)
		}
		return list.Jobs[0], row, w.metrics(s, 0, "jobs=true&job=j3")
	}
	const success = `job_last_run_success{job="j3",user="ann"}`
	st, row, got := state()
	if st.State != job.StateFailing || st.Elsewhere != nil || row.State != job.StateFailing || row.Elsewhere != "" || got[`jobs{state="failing"}`] != 1 {
		t.Errorf("as it failed: %s %+v, board %s, metrics %v; want failing", st.State, st.Elsewhere, row.State, got)
	}
	owned := 0.0
	if st.Node == "db-01" {
		owned = 1
	}
	wantSamples(t, got, map[string]float64{success: 0, `job_owned{job="j3",user="ann"}`: owned})

	w.ring.taken[job.KeyOf("j3", "ann")] = job.Elsewhere{Node: "db-02", Due: w.Now().Add(-time.Minute)} // before it ran here
	if st, row, _ := state(); st.State != job.StateFailing || row.State != job.StateFailing {
		t.Errorf("after an older one elsewhere: %s, board %s; want failing", st.State, row.State)
	}
	w.ring.taken[job.KeyOf("j3", "ann")] = job.Elsewhere{Node: "db-02", Due: w.Now().Add(time.Second)}
	st, row, got = state()
	if st.State != job.StateOK || st.Elsewhere == nil || st.Elsewhere.Node != "db-02" || row.State != job.StateOK || row.Elsewhere != "db-02" {
		t.Errorf("after a newer one elsewhere: %s %+v, board %s %q; want ok, and db-02's", st.State, st.Elsewhere, row.State, row.Elsewhere)
	}
	wantSamples(t, got, map[string]float64{`jobs{state="failing"}`: 0, `jobs{state="ok"}`: 1})
	wantNone(t, got, "last_run_success")
}
