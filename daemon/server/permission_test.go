package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

const annsJobs = `
#@ name=ann-job on-exhausted=dead
* * * * * ann ann-secret-command
#@ name=bob-job
* * * * * bob true
`

// annsWorld has a live and an ended run of ann's, each with output.
func annsWorld(t *testing.T) *world {
	w := newWorld(t, annsJobs)
	w.To("2026-11-20T00:01:00Z") // runs 1 (ann) and 2 (bob)
	w.Start(1)
	w.End(1, 1)
	w.To("2026-11-20T00:02:00Z") // runs 3 (ann) and 4 (bob)
	w.Start(3)
	w.Chunks[1] = []job.Chunk{{Run: 1, Job: "ann-job", Stream: job.Stdout, At: w.Now(), Data: []byte("ann-secret-output")}}
	return w
}

// walked is the request of one route.
type walked struct {
	query, body string
	names       bool // it names a job or run of ann's; for other users it does not exist
	input       bool // of ann's job: no role but admin may change it
	own         bool // each user may request it, and acts as that user
	process     bool // only processes of the run may request it
	private     bool // ann's own crontab: only ann may request it
	crontab     bool // it is about crontabs; ann has one
	streams     bool
	endless     bool // it streams until the caller has enough
}

// request is a request about ann's objects for each route.
var request = map[string]walked{
	"GET /v1/health":      {},
	"GET /v1/status":      {},
	"GET /v1/metrics":     {query: "jobs=true"},
	"GET /v1/jobs":        {},
	"GET /v1/job":         {query: "job=ann-job", names: true},
	"GET /v1/next":        {query: "job=ann-job", names: true},
	"GET /v1/explain":     {query: "job=ann-job", names: true},
	"GET /v1/why":         {query: "job=ann-job", names: true},
	"GET /v1/graph":       {query: "job=ann-job", names: true},
	"GET /v1/runs":        {},
	"GET /v1/actions":     {},
	"GET /v1/access":      {query: "job=ann-job", names: true},
	"GET /v1/run":         {query: "run=1", names: true},
	"GET /v1/output":      {query: "run=1&follow=true", names: true},
	"GET /v1/events":      {streams: true},
	"GET /v1/board":       {endless: true},
	"GET /v1/failures":    {},
	"GET /v1/past":        {query: "job=ann-job"},
	"GET /v1/timeline":    {query: "job=ann-job", names: true},
	"GET /v1/clashes":     {query: "job=ann-job", names: true},
	"GET /v1/stats":       {},
	"GET /v1/diagnostics": {},
	"GET /v1/config":      {},
	"GET /v1/config/job":  {query: "job=ann-job", names: true},
	"POST /v1/run":        {body: `{"jobs":["ann-job"]}`, names: true},
	"POST /v1/stop":       {body: `{"refs":["3"]}`, names: true},
	"POST /v1/pause":      {body: `{"jobs":["ann-job"]}`, names: true},
	"POST /v1/resume":     {body: `{"jobs":["ann-job"]}`, names: true},
	"POST /v1/ack":        {body: `{"jobs":["ann-job"]}`, names: true},
	"POST /v1/reload":     {},
	"GET /v1/backfills":   {},
	"POST /v1/backfill":   {body: `{"job":"ann-job","from":"2026-11-20","to":"2026-11-20"}`, names: true},

	"POST /v1/backfill/stop": {body: `{"id":1}`, names: true},
	"GET /v1/ring":           {},
	"GET /v1/ring/diff":      {query: "member=db-02"},
	"POST /v1/ring":          {body: `{"do":"drain"}`},
	"POST /v1/notify":        {body: `{"channel":"ops"}`},
	"GET /v1/dead":           {},
	"GET /v1/emit":           {},
	"POST /v1/emit":          {body: `{"event":"ready"}`, own: true},
	"POST /v1/beat":          {body: `{"run":1}`, process: true},
	"GET /v1/state":          {query: "job=ann-job", names: true},
	"POST /v1/state":         {body: `{"job":"ann-job","key":"k","value":"dg=="}`, names: true, input: true},
	"POST /v1/retry":         {body: `{"refs":["1"]}`, names: true},
	"GET /v1/env":            {query: "job=ann-job", names: true},
	"GET /v1/db":             {},
	"POST /v1/db":            {body: `{"do":"check"}`},
	"POST /v1/redrive":       {body: `{"refs":["1"]}`, names: true},
	"POST /v1/drop":          {body: `{"refs":["1"]}`, names: true},

	"GET /v1/crontab":          {query: "user=ann", private: true, crontab: true},
	"POST /v1/crontab/install": {body: `{"user":"ann","text":"Iwo="}`, private: true, crontab: true},
	"POST /v1/crontab/remove":  {body: `{"user":"ann"}`, private: true, crontab: true},
	"POST /v1/crontab/edited":  {body: `{"user":"ann"}`, private: true, crontab: true},
	"GET /v1/crontabs":         {crontab: true},
	"GET /v1/revisions":        {query: "user=ann", private: true, crontab: true},
	"GET /v1/revision":         {query: "revision=1", names: true, crontab: true},
	"POST /v1/undo":            {body: `{"revision":1}`, names: true, crontab: true},
}

// Every route is walked, so a new one cannot be added without an answer to
// who may use it.
func TestRoutesPerPeer(t *testing.T) {
	peers := []struct {
		name  string
		uid   uint32
		admin bool
		owner bool // of ann's job
	}{
		{"root", 0, true, true},
		{"daemon's own account", selfUID, true, true},
		{"ann", annUID, false, true},
		{"bob", bobUID, false, false},
		{"uid without account", noneUID, false, false},
	}
	for _, r := range newWorld(t, "").server().routes() {
		for _, p := range peers {
			t.Run(r.method+r.path+" as "+p.name, func(t *testing.T) {
				q, known := request[r.method+" "+r.path]
				if !known {
					t.Fatal("the route has no request in this test: add one")
				}
				w := annsWorld(t)
				if q.crontab || os.Geteuid() == 0 { // only root can give ann one
					annsCrontab(t, w)
				}
				if strings.HasPrefix(r.path, "/v1/ring") {
					w.ring = ringOfThree()
					w.ring.answer = func(string, string) (int, string, error) { return http.StatusOK, `{"v":1}`, nil }
				}
				if r.path == "/v1/resume" {
					w.Ask(context.Background(), pauseOf("ann-job"))
				}
				if r.path == "/v1/backfill/stop" {
					w.Step(event.Backfill{Request: job.Backfill{
						Job: "ann-job", By: "ann", From: w.Now().Add(-time.Hour), To: w.Now(), Overlap: "queue-all", Reprocess: job.ReprocessAll, MaxActive: 1,
					}})
				}
				before, had := len(w.Facts()), len(w.Audited())
				status, text := w.walk(p.uid, r.method, r.path, q)
				want := http.StatusOK
				switch {
				case q.process:
					want = http.StatusConflict
				case r.permission == admin && !p.admin, !p.owner && q.private, q.own && p.uid == noneUID:
					want = http.StatusForbidden
				case !p.owner && q.names:
					want = http.StatusNotFound
				}
				if status != want {
					t.Errorf("status %d, want %d: %s", status, want, text)
				}
				checkAudit(t, w.Audited()[had:], r, p.uid, status)
				if p.owner {
					return
				}
				if i := strings.Index(text, "ann-"); i >= 0 && !echoesOnly(text) {
					t.Errorf("a stranger is told of ann's things: %s", text)
				}
				if strings.Contains(text, "secret") {
					t.Errorf("a stranger is told ann's secrets: %s", text)
				}
				if after := len(w.Facts()); after != before && r.path != "/v1/events" && !q.own {
					t.Errorf("a stranger made %d new facts", after-before)
				}
			})
		}
	}
}

// unaudited are the requests that are not in the audit log: what an editor reports at its end, and
// what a job keeps, if its own user sets it.
var unaudited = []string{"POST /v1/crontab/edited", "POST /v1/state"}

// checkAudit checks that the audit log has what a request did, or that it was refused.
func checkAudit(t *testing.T, acts []job.Action, r route, uid uint32, status int) {
	t.Helper()
	request := r.method + " " + r.path
	done := r.method == http.MethodPost && status == http.StatusOK && (!slices.Contains(unaudited, request) || r.path == "/v1/state" && uid != annUID)
	refused := r.method == http.MethodPost && status == http.StatusForbidden
	if got := len(acts) > 0; got != (done || refused) {
		t.Fatalf("status %d, audit log: %+v", status, acts)
	}
	name, _ := users.Name(uid)
	for _, a := range acts {
		share := ""
		if !strings.Contains("root cronring", cmp.Or(name, "none")) {
			share = (call.Peer{UID: uid, Name: name}).Share()
		}
		if a.Who != (call.Peer{UID: uid, Name: name}).String() || *a.UID != uid || a.What == "" || a.From != "socket" || a.Share != share || refused != (a.Refused != "") {
			t.Errorf("got %+v", a)
		}
		if strings.Contains(a.Refused, r.path) {
			t.Errorf("the reason names a path of the interface: %q", a.Refused)
		}
		if strings.HasPrefix(a.Subject, "ann-") && a.Owner != "ann" {
			t.Errorf("got owner %q of %s, want ann", a.Owner, a.Subject)
		}
	}
}

// echoesOnly reports whether ann's name is in a text only as part of the caller's own input, which
// a not-found error repeats.
func echoesOnly(text string) bool {
	return strings.Count(text, "ann-") == 1 && strings.Contains(text, `\"ann-job\": no such job`)
}

// walk sends the request of a route as the user with that uid, and returns the answer. While a
// stream is read, ann's job changes.
func (w *world) walk(uid uint32, method, path string, q walked) (int, string) {
	return w.walkOn(w.server(), uid, method, path, q)
}

func (w *world) walkOn(s *Server, uid uint32, method, path string, q walked) (int, string) {
	r := httptest.NewRequest(method, path+"?"+q.query, strings.NewReader(q.body))
	r = r.WithContext(call.WithPeer(r.Context(), func() call.Peer {
		name, _ := users.Name(uid)
		return call.Peer{UID: uid, Name: name, Admin: s.keeps(uid)}
	}, func() int { return 0 }))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	recorder := flushed{httptest.NewRecorder(), make(chan struct{}, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeHTTP(recorder, r)
	}()
	if q.streams {
		awaitSubscriber(w.t, w, done)
		w.End(3, 0)
		w.Publish(api.Event{Chunk: &job.Chunk{Run: 3, Job: "ann-job", User: "ann", Data: []byte("ann-secret")}})
		w.Publish(api.Event{Notice: &job.Notice{Job: "ann-job", User: "ann", Text: "ann-secret"}})
		w.Close()
	}
	if q.endless {
		select {
		case <-recorder.flushes:
		case <-done: // refused
		case <-time.After(patience):
			w.t.Errorf("%s %s: nothing was sent", method, path)
		}
		cancel()
	}
	await(w.t, "the answer to "+method+" "+path, done)
	return recorder.Code, recorder.Body.String()
}

// flushed reports when data was sent.
type flushed struct {
	*httptest.ResponseRecorder
	flushes chan struct{}
}

func (f flushed) Flush() { f.flushes <- struct{}{} }

func TestEventsPerPeer(t *testing.T) {
	for uid, want := range map[uint32]int{0: 3, annUID: 3, bobUID: 0, noneUID: 0} {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			_, text := annsWorld(t).walk(uid, "GET", "/v1/events", request["GET /v1/events"])
			if got := strings.Count(text, "\n"); got != want {
				t.Errorf("%d events, want %d:\n%s", got, want, text)
			}
		})
	}
}

// Users see what they did, and what others did to their jobs and crontabs.
func TestActionsPerPeer(t *testing.T) {
	w := annsWorld(t)
	for _, x := range []struct {
		uid  uint32
		path string
		body string
	}{
		{0, "/v1/pause", `{"jobs":["ann-job"],"reason":"move"}`}, {annUID, "/v1/resume", `{"jobs":["ann-job"]}`},
		{bobUID, "/v1/run", `{"jobs":["bob-job"],"force":true}`}, {bobUID, "/v1/reload", "{}"}, {noneUID, "/v1/reload", "{}"},
	} {
		w.walk(x.uid, "POST", x.path, walked{body: x.body})
	}
	for uid, want := range map[uint32]string{
		0: "reload run resume pause", annUID: "resume pause", bobUID: "reload run", noneUID: "",
	} {
		_, text := w.walk(uid, "GET", "/v1/actions", walked{})
		var answer api.Actions
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range answer.Actions {
			if a.Who != "uid 20004" {
				got = append(got, a.What)
			}
		}
		if strings.Join(got, " ") != want || uid == 0 && len(answer.Actions) != 5 {
			t.Errorf("uid %d sees %v, want %s", uid, got, want)
		}
		if i := len(answer.Actions) - 1; uid == annUID && (answer.Actions[i].Who != "root" || answer.Actions[i].Why != "move" || answer.Actions[i].Before != "not paused" || answer.Actions[0].Before != "paused, by root") {
			t.Errorf("got %+v", answer.Actions)
		}
	}
}

// A name can pass from one account's job to another's; history does not.
func TestHistoryStaysWithAccount(t *testing.T) {
	w := annsWorld(t)
	w.Load("#@ name=ann-job\n* * * * * bob true\n") // bob takes the name
	for _, path := range []string{"/v1/runs", "/v1/run", "/v1/output"} {
		if _, text := w.walk(bobUID, "GET", path, request["GET "+path]); strings.Contains(text, "secret") || strings.Contains(text, `"id":1`) {
			t.Errorf("GET %s tells bob of ann's run: %s", path, text)
		}
	}
}
