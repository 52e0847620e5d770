package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// addCrontabs gives a world users' crontabs below a directory of the test.
func addCrontabs(t *testing.T, w *world) spool.Paths {
	t.Helper()
	hosttest.Root(t, "only root can give crontabs to users")
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { history.Close() })
	host := spool.Host{Family: crontab.Debian, Zone: time.UTC}
	w.crontabs = &Crontabs{Host: host, Paths: host.Paths(t.TempDir()), Accounts: users, Revisions: history, Version: "1.2.3"}
	return w.crontabs.Paths
}

// installAnns installs a crontab for ann. Revision 1 is the state without a crontab.
func installAnns(w *world, text string) {
	w.t.Helper()
	request, err := json.Marshal(api.CrontabFileRequest{Source: "-", Text: []byte(text)})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, status := asked[api.Installed](w, annUID, "POST", "/v1/crontab/install", "", string(request)); status != http.StatusOK {
		w.t.Fatalf("status %d", status)
	}
}

// annsCrontab installs a crontab with a secret for ann.
func annsCrontab(t *testing.T, w *world) {
	addCrontabs(t, w)
	installAnns(w, "* * * * * ann-secret\n")
}

// The status reports what a user must not do, with the same rules as the requests themselves.
func TestStatusTellsWhatIsDenied(t *testing.T) {
	w := newWorld(t, annsJobs)
	paths := addCrontabs(t, w)
	installAnns(w, "#@ name=own\n* * * * * true\n")
	file, _ := crontab.Parse(filepath.Join(paths.Users, "ann"), "#@ name=own\n* * * * * true\n", crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	system, _ := crontab.Parse("/etc/cron.d/etl", annsJobs, crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{system, file}})
	filetest.Write(t, paths.Deny, "bob\n", 0o644)
	for _, tc := range []struct {
		uid   uint32
		may   []string
		fixed map[job.ID]bool // of the jobs that it sees
	}{
		{0, []string{"reload", "entries", "crontab"}, map[job.ID]bool{"ann-job": false, "bob-job": false, "ann/own": false}},
		{annUID, []string{"crontab"}, map[job.ID]bool{"ann-job": true, "ann/own": false}},
		{bobUID, nil, map[job.ID]bool{"bob-job": true}},
		{noneUID, nil, map[job.ID]bool{}},
	} {
		st, _ := asked[api.Status](w, tc.uid, "GET", "/v1/status", "", "")
		for name, why := range map[string]string{"reload": st.Denied.Reload, "entries": st.Denied.Entries, "crontab": st.Denied.Crontab} {
			if may := slices.Contains(tc.may, name); may != (why == "") {
				t.Errorf("uid %d: %s is denied for %q, may is %t", tc.uid, name, why, may)
			}
		}
		if status, _ := w.walk(tc.uid, "GET", "/v1/crontab", walked{}); (status == http.StatusOK) != (st.Denied.Crontab == "") {
			t.Errorf("uid %d: its own crontab is answered with %d, and it was told %q", tc.uid, status, st.Denied.Crontab)
		}
		if status, _ := w.walk(tc.uid, "GET", "/v1/crontab", walked{query: "file=/etc/cron.d/etl"}); (status == http.StatusForbidden) != (st.Denied.Entries != "") {
			t.Errorf("uid %d: another crontab is answered with %d, and it was told %q", tc.uid, status, st.Denied.Entries)
		}
		if status, _ := w.walk(tc.uid, "POST", "/v1/reload", walked{}); (status != http.StatusOK) != (st.Denied.Reload != "") {
			t.Errorf("uid %d: a reload is answered with %d, and it was told %q", tc.uid, status, st.Denied.Reload)
		}
		r := w.reader(w.server(), tc.uid)
		r.round()
		fixed := map[job.ID]bool{}
		for id, row := range r.rows {
			fixed[id] = row.Fixed
		}
		if !maps.Equal(fixed, tc.fixed) || r.head.Denied != st.Denied {
			t.Errorf("uid %d: the board has %v and %+v, want %v and %+v", tc.uid, fixed, r.head.Denied, tc.fixed, st.Denied)
		}
	}
}

// An invented host, such as that of cronring demo, has no files.
func TestInventedHostHasNoCrontabs(t *testing.T) {
	w := newWorld(t, "")
	for _, r := range w.server().routes() {
		if !strings.Contains(r.path, "crontab") && !strings.Contains(r.path, "revision") && r.path != "/v1/undo" {
			continue
		}
		if status, text := w.walk(0, r.method, r.path, walked{body: "{}"}); status != http.StatusConflict || !strings.Contains(text, "invented") {
			t.Errorf("%s %s: status %d, %s", r.method, r.path, status, text)
		}
	}
}

// TestAuditHasTheVerb: the audit log distinguishes commands that change a crontab from an edit of its
// text, and no caller can write another word into it.
func TestAuditHasTheVerb(t *testing.T) {
	for verb, want := range map[string]string{"": "edit", "set": "set", "add": "add", "rm": "rm", "apply": "apply", "reload": "edit"} {
		w := newWorld(t, annsJobs)
		addCrontabs(t, w)
		if _, status := asked[api.Installed](w, annUID, "POST", "/v1/crontab/install", "", `{"user":"ann","text":"Iwo=","verb":"`+verb+`"}`); status != http.StatusOK {
			t.Fatalf("%q: status %d", verb, status)
		}
		acts := w.Audited()
		if len(acts) != 1 || acts[0].What != want {
			t.Errorf("%q: the audit log has %+v, want %s", verb, acts, want)
		}
	}
}
