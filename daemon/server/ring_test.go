package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/history"
	"github.com/cronring/cronring/daemon/server/members"
)

// fakeRing is a ring; a test sets the answers of its other members.
type fakeRing struct {
	status api.Ring
	answer func(member, path string) (status int, text string, err error)
	did    []api.RingRequest
	taken  map[job.Key]job.Elsewhere
}

func (r *fakeRing) Taken(key job.Key) (due time.Time, by string, ok bool) {
	t, ok := r.taken[key]
	return t.Due, t.Node, ok
}

func (r *fakeRing) Status() api.Ring { return r.status }

func (r *fakeRing) Change(_ context.Context, q api.RingRequest) (api.RingDone, error) {
	r.did = append(r.did, q)
	return api.RingDone{Did: "done"}, nil
}

func (r *fakeRing) Transport() http.RoundTripper { return r }

func (r *fakeRing) RoundTrip(q *http.Request) (*http.Response, error) {
	status, text, err := r.answer(q.URL.Host, q.URL.Path)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(bytes.NewBufferString(text)), Request: q}, nil
}

func ringOfThree() *fakeRing {
	member := func(id, name string, state api.MemberState) api.Member {
		return api.Member{ID: id, Name: name, State: state}
	}
	return &fakeRing{status: api.Ring{Name: "prod", Self: "a", Members: []api.Member{
		member("a", "db-01", api.MemberUp), member("b", "db-02", api.MemberUp), member("c", "db-03", api.MemberUp), member("d", "db-03", api.MemberLeft),
	}}}
}

// A user without a role sees the problems of the ring that concern everybody, or this user.
func TestRingLeavesOutProblemsOfOthers(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	w.ring.status.Problems = []api.Problem{{What: "everybody's"}, {What: "ann's", User: "ann"}, {What: "root's", User: "root"}}
	s := w.server()
	for want, peer := range map[int]call.Peer{3: {Name: "root", Admin: true}, 2: {Name: "ann"}, 1: {Name: "bob"}} {
		ctx := call.WithPeer(t.Context(), func() call.Peer { return peer }, func() int { return 0 })
		answer := httptest.NewRecorder()
		if err := s.ringStatus(ctx, s.newCall(answer, httptest.NewRequestWithContext(ctx, "GET", "/v1/ring", nil))); err != nil {
			t.Fatal(err)
		}
		var got api.Ring
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || len(got.Problems) != want {
			t.Errorf("%s sees %+v (%v), want %d problems", peer.Name, got.Problems, err, want)
		}
	}
}

func TestHistoryOfAllNodesLeavesOutWhoCannotBeAsked(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	theirs := job.Run{ID: 7, Job: "x", Decided: w.Now().Add(-time.Minute)}
	w.ring.answer = func(member, path string) (int, string, error) {
		if member == "c" {
			return 0, "", errors.New("no route to host")
		}
		text, err := json.Marshal(api.Runs{V: 1, Runs: []job.Run{theirs}})
		return http.StatusOK, string(text), err
	}
	client := w.client()
	runs, err := client.History(t.Context(), api.Filter{Node: api.AllNodes})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 || runs.Runs[0].Node != "db-02" || runs.Runs[0].ID != 7 {
		t.Errorf("got %+v, want db-02's run 7", runs.Runs)
	}
	if len(runs.Missing) != 1 || !strings.Contains(runs.Missing[0], "db-03") {
		t.Errorf("missing: got %q, want db-03", runs.Missing)
	}
	if _, err := client.History(t.Context(), api.Filter{Node: "db-03"}); api.KindOf(err) != api.Unreachable {
		t.Errorf("one who cannot be asked: got %v, want %s", err, api.Unreachable)
	}
	if _, err := client.History(t.Context(), api.Filter{Node: "db-09"}); api.KindOf(err) != api.NotFound {
		t.Errorf("nobody: got %v, want %s", err, api.NotFound)
	}
}

func TestMembersAnswersAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		text   string
		want   string
	}{
		"too much":   {http.StatusOK, strings.Repeat(" ", members.MaxAnswer+1), "answers too much"},
		"no JSON":    {http.StatusOK, "<html>", "read answer of db-02"},
		"an error":   {http.StatusNotFound, `{"v":1,"kind":"not-found","error":"cannot see it","why":"none"}`, "db-02: cannot see it"},
		"no words":   {http.StatusTeapot, "{}", "db-02: cannot be answered"},
		"no history": {http.StatusOK, `{"v":1}`, ""},
	} {
		w := newWorld(t, "0 0 1 1 * true\n")
		w.ring = ringOfThree()
		w.ring.answer = func(string, string) (int, string, error) { return c.status, c.text, nil }
		_, err := w.client().History(t.Context(), api.Filter{Node: "db-02"})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestMembersErrorsAreBrief(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	long := strings.Repeat("x", 10*members.MaxWords)
	w.ring.answer = func(string, string) (int, string, error) {
		return http.StatusNotFound, fmt.Sprintf(`{"v":1,"kind":"no-such-kind","error":%q,"why":%q,"fix":%q}`, long, long, long), nil
	}
	_, err := w.client().History(t.Context(), api.Filter{Node: "db-02"})
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Kind != api.Internal || len(e.What)+len(e.Why)+len(e.Fix) > 4*members.MaxWords {
		t.Errorf("got %.100v, want an internal error of few words", err)
	}
}

func TestHistoryOfManyNodesKeepsTheNewest(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	var asking, most atomic.Int32
	for n := range 5 * history.MembersAsked {
		id := fmt.Sprint("m", n)
		w.ring.status.Members = append(w.ring.status.Members, api.Member{ID: id, Name: id, State: api.MemberUp})
	}
	w.ring.answer = func(member, _ string) (int, string, error) {
		now := asking.Add(1)
		defer asking.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		var runs []job.Run
		for n := range 40 {
			runs = append(runs, job.Run{ID: job.RunID(n + 1), Job: "x", Decided: w.Now().Add(-time.Duration(n) * time.Minute)})
		}
		text, err := json.Marshal(api.Runs{V: 1, Runs: runs})
		return http.StatusOK, string(text), err
	}
	runs, err := w.client().History(t.Context(), api.Filter{Node: api.AllNodes, Limit: 30})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 30 || !runs.Runs[29].Decided.Equal(w.Now()) {
		t.Errorf("got %d runs, want the newest one of 30 of the members", len(runs.Runs))
	}
	if most.Load() > history.MembersAsked {
		t.Errorf("asked %d members at once, want at most %d", most.Load(), history.MembersAsked)
	}
}

// TestMemberIsToldOfThisHostAlone: else one question would become one to each
// member, as root.
func TestMemberIsToldOfThisHostAlone(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	w.ring.answer = func(member, path string) (int, string, error) {
		t.Errorf("a member's question has %s asked for %s", member, path)
		return http.StatusOK, `{"v":1}`, nil
	}
	var active sync.WaitGroup
	mux := w.server().memberMux(&active)
	for path, want := range map[string]int{
		"/v1/runs?member=all": http.StatusOK, "/v1/runs?member=db-02": http.StatusOK, "/v1/ring": http.StatusNotFound, "/v1/crontab?user=ann": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != want {
			t.Errorf("%s: got %d %s, want %d", path, answer.Code, answer.Body, want)
		}
	}
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/v1/runs", nil))
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d, want %d", answer.Code, http.StatusMethodNotAllowed)
	}
}

func TestRingIsChangedAsAsked(t *testing.T) {
	w := newWorld(t, "0 0 1 1 * true\n")
	w.ring = ringOfThree()
	w.ring.answer = func(string, string) (int, string, error) { return http.StatusOK, `{"v":1}`, nil }
	root := w.client()
	if _, err := root.ChangeRing(t.Context(), api.RingRequest{Do: "spin"}); api.KindOf(err) != api.Usage || !strings.HasPrefix(err.Error(), `invalid do="spin": expected join,`) {
		t.Errorf("spin: got %v, want the values of do", err)
	}
	if done, err := root.ChangeRing(t.Context(), api.RingRequest{Do: api.RingDrain}); err != nil || done.Did != "done" {
		t.Errorf("drain by root: got %+v, %v", done, err)
	}
}

// TestHostInNoRing checks that a host in no ring reports nothing of one, and that requests that need a
// ring fail with the reason.
func TestHostInNoRing(t *testing.T) {
	w := newWorld(t, "#@ name=held scope=ring\n0 0 1 1 * ann true\n")
	root, s := w.client(), w.server()
	w.TapFacts(job.Record{Kind: job.Doubled, Job: "held", At: w.Now()}) // it was in a ring
	status, text := w.walkOn(s, 0, "GET", "/v1/ring", walked{})
	if want := `{"v":1,"joined":false,"jobs":0,"members":[],"safe_to_lose":0}`; status != http.StatusOK || strings.TrimSpace(text) != want {
		t.Errorf("status of the ring: got %d, %s, want %s", status, text, want)
	}
	got := w.metrics(s, 0, "jobs=true")
	wantNone(t, got, "ring_")
	wantNone(t, got, "owned")
	_, change := root.ChangeRing(t.Context(), api.RingRequest{Do: api.RingDrain})
	_, diff := root.RingDiff(t.Context(), "db-02")
	_, one := root.History(t.Context(), api.Filter{Node: "db-02"})
	_, all := root.History(t.Context(), api.Filter{Node: api.AllNodes})
	for _, c := range []struct {
		do  string
		err error
	}{
		{"drain", change}, {"compare ring jobs", diff}, {"see the history of other members", one}, {"see the history of other members", all},
	} {
		e, ok := errors.AsType[*api.Error](c.err)
		if want := "cannot " + c.do + ": this host is in no ring"; !ok || e.Kind != api.Conflict || e.What != want {
			t.Errorf("got %v, want %q", c.err, want)
		}
	}
}

func TestDiffJobs(t *testing.T) {
	j := func(name string, hash byte) api.RingJob { return api.RingJob{Job: job.ID(name), Hash: job.Key{hash}} }
	d := diffJobs([]api.RingJob{j("a", 1), j("b", 2), j("c", 3)}, []api.RingJob{j("a", 1), j("b", 9), j("d", 4)})
	if d.Same != 1 || len(d.Differ) != 1 || d.Differ[0].There.Hash != (job.Key{9}) || len(d.Missing) != 1 || d.Missing[0].Job != "c" || len(d.Extra) != 1 || d.Extra[0].Job != "d" {
		t.Errorf("got %+v", d)
	}
}
