package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

func repeat(n int) []string {
	refs := make([]string, n)
	for i := range refs {
		refs[i] = "old"
	}
	return refs
}

// A request with a text or list that is too long is rejected, and the error names that text.
func TestLongTextsAreRefused(t *testing.T) {
	w := newWorld(t, etlCrontab)
	path := w.serve()
	long, fits := strings.Repeat("x", job.MaxText+1), strings.Repeat("x", job.MaxText)
	for _, test := range []struct {
		path string
		body any
		want string // in the error; "": it is accepted
	}{
		{"/v1/pause", api.PauseRequest{Refs: []string{"old"}, Reason: fits}, ""},
		{"/v1/pause", api.PauseRequest{Refs: []string{"old"}, Reason: long}, `"reason"`},
		{"/v1/pause", api.PauseRequest{Refs: []string{"old", long}}, `"jobs"`},
		{"/v1/pause", api.PauseRequest{Refs: repeat(api.MaxItems)}, ""},
		{"/v1/pause", api.PauseRequest{Refs: repeat(api.MaxItems + 1)}, `"jobs"`},
		{"/v1/ack", api.AckRequest{All: true, Reason: long}, `"reason"`},
		{"/v1/resume", api.ResumeRequest{Refs: []string{long}}, `"jobs"`},
		{"/v1/stop", api.StopRequest{Refs: []string{"old"}, Signal: long}, `"signal"`},
		{"/v1/backfill", api.BackfillRequest{Ref: "old", From: long}, `"from"`},
		{"/v1/state", api.StateRequest{Job: "old", Key: long}, `"key"`},
		{"/v1/state", api.StateRequest{Job: "old", Key: "k", Value: []byte(long)}, ""},
		{"/v1/run", api.RunRequest{Refs: []string{"old"}, Env: []string{"A=" + long}, Force: true}, ""},
	} {
		text, err := json.Marshal(test.body)
		if err != nil {
			t.Fatal(err)
		}
		checkRefusal(t, send(t, path, post(test.path, string(text))), fmt.Sprintf("%s %.60s", test.path, text), test.want)
	}
	for target, want := range map[string]string{
		"/v1/jobs?job=" + long:                           `"job"`,
		"/v1/jobs?user=" + long:                          `"user"`,
		"/v1/jobs?" + strings.Repeat("label=a&", 1001):   `"label"`,
		"/v1/jobs?crontab=" + fits:                       "",
		"/v1/crontabs?file=" + strings.Repeat("x", 4097): `"file"`,
		"/v1/runs?" + strings.Repeat("job=*&", 1001):     `"job"`,
		"/v1/jobs?" + strings.Repeat("x", job.MaxText*2): "", // unknown parameters are ignored
	} {
		checkRefusal(t, send(t, path, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n"), fmt.Sprintf("%.60s", target), want)
	}
	for _, r := range w.Facts() {
		if r.Hold != nil && len(r.Hold.Reason) > job.MaxText {
			t.Errorf("a reason of %d bytes was recorded", len(r.Hold.Reason))
		}
	}
}

func checkRefusal(t *testing.T, response *http.Response, name, want string) {
	t.Helper()
	var e api.Error
	if err := json.NewDecoder(response.Body).Decode(&e); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	switch {
	case want == "" && strings.Contains(e.What, "too long"):
		t.Errorf("%s: %v, want no limit", name, &e)
	case want != "" && (e.Kind != api.Usage || !strings.Contains(e.What, want) || !strings.Contains(e.What, "too long")):
		t.Errorf("%s: %s, %v, want that %s is too long", name, response.Status, &e, want)
	}
}

// A client that names more jobs than fit into a request sends several.
func TestClientSplitsLongLists(t *testing.T) {
	c := newWorld(t, etlCrontab).client()
	ids, err := c.Pause(patient(t), api.PauseRequest{Refs: repeat(2*api.MaxItems + 1)})
	if err != nil || len(ids) != 3 {
		t.Errorf("pause: %v, %v, want three requests", ids, err)
	}
}

// FuzzRequest holds that no body and no query makes a handler panic, or leaves
// behind a text that is too long.
func FuzzRequest(f *testing.F) {
	for _, r := range emptyWorld(f).server().routes() {
		f.Add(r.method, r.path, "job=old&limit=3", `{"jobs":["old"],"reason":"x"}`)
	}
	f.Add("POST", "/v1/pause", "", `{"jobs":["*"],"until":"2030-01-01T00:00:00Z"}`)
	f.Add("POST", "/v1/backfill", "", `{"job":"old","from":"2026-01-01","to":"9999-12-31","dry_run":true}`)
	f.Add("GET", "/v1/timeline", "from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z&cells=9223372036854775807", "")
	f.Add("GET", "/v1/runs", "before=9223372036854775807&limit=9223372036854775807&since=9999-12-31T23:59:59Z&skipped=1", "")
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		w := newWorld(t, etlCrontab)
		s := w.server()
		r := httptest.NewRequest("GET", "http://cronring/", strings.NewReader(body)).WithContext(call.WithPeer(t.Context(), func() call.Peer { return call.Peer{UID: annUID, Name: "ann"} }, func() int { return 0 }))
		r.Method, r.URL.Path, r.URL.RawQuery = method, path, query
		if path == "/v1/events" || path == "/v1/board" || strings.Contains(body, "wait") {
			return // these wait for events
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		if answer.Code >= 500 {
			t.Errorf("%s %s?%s with %q: %d %s", method, path, query, body, answer.Code, answer.Body)
		}
		if answer.Header().Get("Content-Type") == "application/json" && !json.Valid(answer.Body.Bytes()) {
			t.Errorf("%s %s?%s: %.200q is not JSON", method, path, query, answer.Body)
		}
		for _, r := range w.Facts() {
			if len(r.Detail) > 2*job.MaxText {
				t.Errorf("%s %s with %q left %d bytes behind", method, path, body, len(r.Detail))
			}
		}
		if n := s.queries.Users() + s.writes.Users() + s.texts.Users(); n != 0 {
			t.Errorf("%s %s?%s keeps its slot", method, path, query)
		}
	})
}

func TestCutTextKeepsRunes(t *testing.T) {
	text := strings.Repeat("é", job.MaxText)
	for _, prefix := range []string{"", "x"} {
		cut := job.CutText(prefix + text)
		if !utf8.ValidString(cut) || len(cut) > job.MaxText+len("...") || !bytes.HasSuffix([]byte(cut), []byte("...")) {
			t.Errorf("%d bytes, valid %t", len(cut), utf8.ValidString(cut))
		}
	}
	if short := strings.Repeat("x", job.MaxText); job.CutText(short) != short {
		t.Error("a text that fits is cut")
	}
}
