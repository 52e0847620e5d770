package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// deadWorld has runs 1 (ann) and 3 (bob) among the dead letters.
func deadWorld(t *testing.T) *world {
	w := newWorld(t, `
#@ name=ann-job on-exhausted=dead
* * * * * ann true
#@ name=bob-job retry=1 backoff=1s
* * * * * bob true
`)
	w.To("2026-11-20T00:01:00Z")
	w.Start(1)
	w.End(1, 3)
	w.Start(2)
	w.End(2, 3)
	w.To("2026-11-20T00:01:02Z")
	w.Start(3) // bob's second attempt
	w.End(3, 4)
	return w
}

// failWithVariable lets ann run "job" with N=1, which fails, and returns the run.
func failWithVariable(w *world) job.RunID {
	w.t.Helper()
	run, status := asked[api.Runs](w, annUID, "POST", "/v1/run", "", `{"jobs":["job"],"env":["N=1"]}`)
	if len(run.Runs) != 1 {
		w.t.Fatalf("status %d, got %v, want one run", status, run)
	}
	id := run.Runs[0].ID
	w.Start(id)
	w.End(id, 3)
	return id
}

// TestListOfLettersHasNoVariables: those of thousands of letters would fill the memory, but a letter runs
// again with its own.
func TestListOfLettersHasNoVariables(t *testing.T) {
	w := newWorld(t, "#@ name=job on-exhausted=dead trigger=manual\n0 0 1 1 * ann true\n")
	failWithVariable(w)
	if list, status := asked[api.DeadLetters](w, annUID, "GET", "/v1/dead", "", ""); len(list.List) != 1 || len(list.List[0].Run.Env) != 0 {
		t.Errorf("status %d, got %v, want a letter without variables", status, list)
	}
	again, status := asked[api.Runs](w, annUID, "POST", "/v1/redrive", "", `{"all":true}`)
	if len(again.Runs) != 1 || !slices.Equal(again.Runs[0].Env, []string{"N=1"}) {
		t.Errorf("status %d, got %v, want a run with N=1", status, again)
	}
}

// TestRetryWithoutVariables: a run whose variables the history no longer has is not run without them.
func TestRetryWithoutVariables(t *testing.T) {
	w := newWorld(t, "#@ name=job trigger=manual\n0 0 1 1 * ann true\n")
	id := failWithVariable(w)
	for _, f := range w.Facts() {
		if f.Run != nil {
			f.Run.Env, f.Run.Trimmed = nil, true
		}
	}
	if again, status := asked[api.Runs](w, annUID, "POST", "/v1/retry", "", `{"refs":["`+id.String()+`"]}`); status != http.StatusConflict {
		t.Errorf("status %d, got %v, want a conflict", status, again)
	}
}

// asked returns the answer to a user's request.
func asked[T any](w *world, uid uint32, method, path, query, body string) (document T, status int) {
	w.t.Helper()
	status, text := w.walk(uid, method, path, walked{query: query, body: body})
	if status == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return document, status
}

func runsOf(letters api.DeadLetters) []job.RunID {
	ids := []job.RunID{}
	for _, l := range letters.List {
		ids = append(ids, l.Run.ID)
	}
	return ids
}

func TestDeadLettersAreListedForTheirAccounts(t *testing.T) {
	w := deadWorld(t)
	for _, c := range []struct {
		uid   uint32
		query string
		want  []job.RunID
	}{
		{0, "", []job.RunID{3, 1}},
		{0, "limit=1", []job.RunID{3}},
		{annUID, "", []job.RunID{1}},
		{bobUID, "job=bob-job", []job.RunID{3}},
		{noneUID, "", []job.RunID{}},
	} {
		letters, _ := asked[api.DeadLetters](w, c.uid, "GET", "/v1/dead", c.query, "")
		if got := runsOf(letters); !slices.Equal(got, c.want) {
			t.Errorf("uid %d, query %q: got %v, want %v", c.uid, c.query, got, c.want)
		}
	}
	if _, status := asked[api.DeadLetters](w, annUID, "GET", "/v1/dead", "job=bob-job", ""); status != http.StatusNotFound {
		t.Errorf("ann asks for bob's: status %d, want 404", status)
	}
}

func TestRedriveRunsTheOccurrenceAgain(t *testing.T) {
	w := deadWorld(t)
	letters, _ := asked[api.DeadLetters](w, bobUID, "GET", "/v1/dead", "", "")
	dead := letters.List[0].Run
	runs, status := asked[api.Runs](w, bobUID, "POST", "/v1/redrive", "", `{"refs":["bob-job"]}`)
	if len(runs.Runs) != 1 {
		t.Fatalf("status %d, got %v, want one run", status, runs)
	}
	if r := runs.Runs[0]; !r.Due.Equal(dead.Due) || r.Invocation != dead.Invocation || r.Attempt != 1 || r.By != "bob" {
		t.Errorf("got %+v, want the occurrence of %+v anew", r, dead)
	}
	if _, status := asked[api.Runs](w, bobUID, "POST", "/v1/redrive", "", `{"refs":["3"]}`); status != http.StatusNotFound {
		t.Errorf("again: status %d, want 404", status)
	}
}

func TestDropTakesOnlyWhatIsNamed(t *testing.T) {
	w := deadWorld(t)
	for _, c := range []struct {
		uid    uint32
		body   string
		status int
	}{
		{annUID, `{"refs":["3"]}`, http.StatusNotFound}, // bob's
		{annUID, `{"refs":["bob-job"]}`, http.StatusNotFound},
		{0, `{}`, http.StatusBadRequest},
		{0, `{"refs":["1"],"all":true}`, http.StatusBadRequest},
		{0, `{"refs":["@paused"]}`, http.StatusNotFound}, // no job is paused
	} {
		if _, status := asked[api.DeadLetters](w, c.uid, "POST", "/v1/drop", "", c.body); status != c.status {
			t.Errorf("uid %d, %s: status %d, want %d", c.uid, c.body, status, c.status)
		}
	}
	dropped, _ := asked[api.DeadLetters](w, annUID, "POST", "/v1/drop", "", `{"all":true}`)
	if got := runsOf(dropped); !slices.Equal(got, []job.RunID{1}) {
		t.Errorf("ann drops all: got %v, want run 1", got)
	}
	left, _ := asked[api.DeadLetters](w, 0, "GET", "/v1/dead", "", "")
	if got := runsOf(left); !slices.Equal(got, []job.RunID{3}) {
		t.Errorf("left %v, want run 3", got)
	}
}

func TestDeadLettersAreNamedAsRuns(t *testing.T) {
	for _, c := range []struct {
		path, ref string
		status    int
	}{
		{"/v1/redrive", "bob-job@last", http.StatusOK},
		{"/v1/redrive", "bob-job@failed", http.StatusOK},
		{"/v1/drop", "bob-job@last", http.StatusOK},
		{"/v1/drop", "bob-job@failed", http.StatusOK},
		{"/v1/drop", "bob-job@-1", http.StatusOK},
		{"/v1/drop", "bob-job@-2", http.StatusNotFound}, // the first attempt is not a dead letter
		{"/v1/drop", "ann-job@last", http.StatusNotFound},
		{"/v1/redrive", "bob-job@-0", http.StatusBadRequest},
	} {
		w := deadWorld(t)
		if _, status := asked[api.Runs](w, bobUID, "POST", c.path, "", `{"refs":["`+c.ref+`"]}`); status != c.status {
			t.Errorf("%s %s: status %d, want %d", c.path, c.ref, status, c.status)
		}
	}
}

func TestErrorsNameTheAction(t *testing.T) {
	for path, c := range map[string]struct{ body, want string }{
		"/v1/pause": {`{"jobs":["ann-job"],"until":"2020-01-01T00:00:00Z"}`, "cannot pause: the pause would end before it begins"},
		"/v1/stop":  {`{"refs":["ann-job"],"signal":"FOO"}`, "expected one of ABRT, ALRM, HUP"},
		"/v1/retry": {`{"refs":["ann-job"],"since":"2040-01-01T00:00:00Z"}`, "the history has no matching failed run since 2040-01-01T00:00:00Z"},
	} {
		w := deadWorld(t)
		if _, text := w.walk(0, "POST", path, walked{body: c.body}); !strings.Contains(text, c.want) || strings.Contains(text, "cronring help") {
			t.Errorf("%s: got %s, want %q", path, text, c.want)
		}
	}
}
