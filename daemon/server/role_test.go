package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/simulated"
)

// grantBob gives bob a role.
func grantBob(role call.Role) func(context.Context, string) call.Grant {
	return func(_ context.Context, user string) call.Grant {
		return call.GrantOf(user, []string{"bobs", "oncall"}, map[call.Role][]string{role: {"nobody", "@oncall"}})
	}
}

// With a role bob may do what the routes say: a viewer reads about ann's job, an operator also acts
// on it, and an admin does all. Nobody but admins touches ann's crontab.
func TestRoutesPerRole(t *testing.T) {
	for _, r := range newWorld(t, "").server().routes() {
		q := request[r.method+" "+r.path]
		if q.streams || q.endless || q.process || strings.HasPrefix(r.path, "/v1/ring") || r.path == "/v1/resume" || r.path == "/v1/backfill/stop" {
			continue
		}
		for _, role := range []call.Role{call.View, call.Operate, call.Admin} {
			t.Run(r.method+r.path+" as "+role.String(), func(t *testing.T) {
				w := annsWorld(t)
				if q.crontab {
					annsCrontab(t, w)
				}
				w.grant = grantBob(role)
				before := len(w.Facts())
				status, text := w.walk(bobUID, r.method, r.path, q)
				want := http.StatusOK
				switch {
				case role == call.Admin:
				case r.permission == admin, q.private, q.input, r.permission == operator && role == call.View:
					want = http.StatusForbidden
				case q.crontab && q.names: // a version of ann's crontab
					want = http.StatusNotFound
				}
				if status != want {
					t.Errorf("status %d, want %d: %s", status, want, text)
				}
				if want == http.StatusForbidden && r.permission >= operator && !strings.Contains(text, "it needs the role ") {
					t.Errorf("the refusal does not name the role: %s", text)
				}
				if after := len(w.Facts()); status != http.StatusOK && after != before {
					t.Errorf("a refused request made %d new facts", after-before)
				}
			})
		}
	}
}

const narrowCrontab = `
#@ name=open
* * * * * ann true
#@ name=seen access=operate:@wheel
* * * * * ann true
#@ name=hidden access=view:@wheel
* * * * * ann true
#@ name=both access=view:bob+@wheel,operate:@oncall+@wheel
* * * * * ann true
#@ name=bobs access=view:@wheel,operate:@wheel
* * * * * bob true
`

// access= of a job narrows the roles of others, but not those of its own user.
func TestAccessOfJobsNarrowsRoles(t *testing.T) {
	w := newWorld(t, narrowCrontab)
	w.To("2026-11-20T00:01:00Z")
	w.grant = grantBob(call.Operate)
	names := func(path string) string {
		_, text := w.walk(bobUID, "GET", path, walked{})
		var found []string
		for _, name := range []string{"open", "seen", "hidden", "both", "bobs"} {
			if strings.Contains(text, `"`+name+`"`) {
				found = append(found, name)
			}
		}
		return strings.Join(found, " ")
	}
	for _, path := range []string{"/v1/jobs", "/v1/runs", "/v1/next"} {
		if got := names(path); got != "open seen both bobs" {
			t.Errorf("GET %s shows bob %q", path, got)
		}
	}
	status, text := w.walk(bobUID, "POST", "/v1/pause", walked{body: `{"jobs":["*"]}`})
	var changed api.Changed
	if err := json.Unmarshal([]byte(text), &changed); err != nil || status != http.StatusOK || len(changed.Jobs) != 3 || slices.Contains(changed.Jobs, "seen") {
		t.Errorf("pause all: %d %s", status, text)
	}
	for name, want := range map[string]int{"seen": http.StatusForbidden, "hidden": http.StatusNotFound, "se*": http.StatusForbidden, "etl:5": http.StatusForbidden} {
		status, text := w.walk(bobUID, "POST", "/v1/pause", walked{body: `{"jobs":["` + name + `"]}`})
		if status != want || want == http.StatusForbidden && !strings.Contains(text, "access= of the job does not name you for operate") {
			t.Errorf("pause %s: %d %s", name, status, text)
		}
	}
	for run, want := range map[string]int{"1": http.StatusOK, "2": http.StatusForbidden, "3": http.StatusNotFound} {
		if status, text := w.walk(bobUID, "POST", "/v1/stop", walked{body: `{"refs":["` + run + `"]}`}); status != want {
			t.Errorf("stop run %s: %d %s, want %d", run, status, text, want)
		}
	}
}

// Problems name users and quote what is theirs.
func TestProblemsOfOthersAreHidden(t *testing.T) {
	w := newWorld(t, narrowCrontab)
	w.Problems = []api.Problem{{What: "everybody's problem"}, {What: "ann's problem", User: "ann"}, {What: "bob's problem", User: "bob"}, {What: "root's problem", User: "root"}}
	for role, want := range map[call.Role]string{call.Own: "everybody bob", call.View: "everybody ann bob root", call.Admin: "everybody ann bob root"} {
		w.grant = grantBob(role)
		for _, path := range []string{"/v1/health", "/v1/status"} {
			status, text := w.walk(bobUID, "GET", path, walked{})
			var seen []string
			for _, name := range []string{"everybody", "ann", "bob", "root"} {
				if strings.Contains(text, name+"'s problem") {
					seen = append(seen, name)
				}
			}
			if got := strings.Join(seen, " "); status != http.StatusOK || got != want {
				t.Errorf("GET %s shows role %s the problems of %q, want %q", path, role, got, want)
			}
		}
	}
}

// An operator cannot set variables such as LD_PRELOAD, which would make a job of another user do
// anything.
func TestOperatorCannotSetVariables(t *testing.T) {
	w := newWorld(t, narrowCrontab)
	w.grant = grantBob(call.Operate)
	for jobs, want := range map[string]int{`"bobs"`: http.StatusOK, `"open"`: http.StatusForbidden, `"bobs","open"`: http.StatusForbidden, `"*"`: http.StatusForbidden} {
		before := len(w.Facts())
		status, text := w.walk(bobUID, "POST", "/v1/run", walked{body: `{"jobs":[` + jobs + `],"env":["LD_PRELOAD=/tmp/x.so"]}`})
		if status != want || want != http.StatusOK && (!strings.Contains(text, "it needs the role admin") || len(w.Facts()) != before) {
			t.Errorf("run %s: %d %s, want %d", jobs, status, text, want)
		}
	}
}

// A name that several users have is ambiguous, even if the caller may operate only one of the jobs:
// otherwise a user could take the name of another job and get what is meant for that.
func TestAmbiguousNameOfAJobThatMustNotBeOperated(t *testing.T) {
	w := newWorld(t, "")
	w.grant = grantBob(call.Operate)
	var files []*crontab.File
	for user, options := range map[string]string{"root": " access=operate:@wheel", "ann": ""} {
		file, diagnostics := crontab.Parse(user, "#@ name=backup"+options+"\n* * * * * true\n", crontab.Config{Owner: user, Zone: time.LoadLocation})
		if len(diagnostics) > 0 {
			t.Fatal(diagnostics)
		}
		files = append(files, file)
	}
	w.LoadCrontabs(nil, files...)
	if status, text := w.walk(bobUID, "POST", "/v1/pause", walked{body: `{"jobs":["backup"]}`}); status != http.StatusBadRequest || !strings.Contains(text, "several users") {
		t.Errorf("got %d %s, want that the name is ambiguous", status, text)
	}
}

// A viewer does not learn when jobs run that access= hides.
func TestTimelineLeavesOutHiddenJobs(t *testing.T) {
	for text, want := range map[string]bool{"* * * * * ann true\n": true, "#@ access=view:@wheel\n* * * * * ann true\n": false} {
		w := newWorld(t, text)
		w.To("2026-11-20T00:05:00Z")
		w.Start(1)
		w.grant = grantBob(call.View)
		status, text := w.walk(bobUID, "GET", "/v1/timeline", walked{query: "from=2026-11-20T00:00:00Z&to=2026-11-20T00:06:00Z"})
		var line api.Timeline
		if err := json.Unmarshal([]byte(text), &line); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		if got := slices.ContainsFunc(line.Load, func(n int) bool { return n > 0 }); got != want {
			t.Errorf("%q: load %v", text, line.Load)
		}
	}
}

// A viewer does not learn how often jobs fail that access= hides.
func TestFailuresLeaveOutHiddenJobs(t *testing.T) {
	w := newWorld(t, narrowCrontab)
	w.Play("2026-11-20T00:03:30Z", func(effect.Start) simulated.Played {
		return simulated.Played{Took: time.Second, Outcome: job.Outcome{Kind: job.Exited, Code: 1}}
	})
	count := func(uid uint32) (n int) {
		t.Helper()
		status, text := w.walk(uid, "GET", "/v1/failures", walked{})
		var failures api.Failures
		if err := json.Unmarshal([]byte(text), &failures); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		for _, g := range failures.Groups {
			n += g.Count
		}
		if n != failures.Count {
			t.Errorf("user %d: groups of %d failures, and %d in total", uid, n, failures.Count)
		}
		return n
	}
	all := count(0)
	w.grant = grantBob(call.View)
	if got := count(bobUID); all == 0 || got*5 != all*4 {
		t.Errorf("bob sees %d of %d failures, want those of 4 of the 5 jobs", got, all)
	}
}

func TestAccessExplains(t *testing.T) {
	w := newWorld(t, narrowCrontab)
	w.grant = grantBob(call.Operate)
	ask := func(uid uint32, query string) (a api.Access) {
		t.Helper()
		status, text := w.walk(uid, "GET", "/v1/access", walked{query: query})
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s", query, status, text)
		}
		return a
	}
	a := ask(0, "user=bob&job=seen")
	if a.User != "bob" || a.Role != "operate" || a.Why != "the role operate, because access.operate names @oncall" || a.Sees != 4 || a.Operates != 3 ||
		a.Job == nil || !a.Job.Sees || a.Job.Operates || a.Job.Why != "the job has access=operate:@wheel" {
		t.Errorf("got %+v, %+v", a, a.Job)
	}
	if a = ask(bobUID, "job=open"); a.Role != "operate" || !a.Job.Operates {
		t.Errorf("got %+v, %+v", a, a.Job)
	}
	if a = ask(0, ""); a.Role != "admin" || a.Sees != 5 || a.Operates != 5 {
		t.Errorf("root: got %+v", a)
	}
	if status, text := w.walk(0, "GET", "/v1/access", walked{query: "user=nosuch"}); status != http.StatusNotFound || !strings.Contains(text, "no such user") {
		t.Errorf("a user who does not exist: %d %s", status, text)
	}
	if status, _ := w.walk(bobUID, "GET", "/v1/access", walked{query: "user=ann"}); status != http.StatusForbidden {
		t.Errorf("bob asks about ann: status %d", status)
	}
}
