package server

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// people are the accounts of the tests, as a host would find them.
type people struct{}

func (people) Find(_ context.Context, name string) (account.Account, error) {
	for _, uid := range []uint32{0, annUID, bobUID, selfUID} {
		if known, _ := accountName(uid); known == name {
			return account.Account{Name: name, UID: uid, GID: uid}, nil
		}
	}
	return account.Account{}, &account.UnknownError{Name: name}
}

// host adds crontabs below a directory of the test to a world.
type host struct {
	*world
	places spool.Paths
}

func newHost(t *testing.T, w *world) *host {
	t.Helper()
	hosttest.Root(t, "only root can give tables to accounts")
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { history.Close() })
	h := &host{world: w}
	thisHost := spool.Host{Family: crontab.Debian, Zone: time.UTC}
	h.places = thisHost.Paths(t.TempDir())
	w.crontabs = &Crontabs{
		Host: thisHost, Paths: h.places, Accounts: people{}, Revisions: history, Version: "1.2.3",
	}
	return h
}

// ask sends a request as an account and reads the answer into document.
func (h *host) ask(uid uint32, method, path, body string, document any) (int, *api.Error) {
	h.t.Helper()
	path, query, _ := strings.Cut(path, "?")
	status, text := h.walk(uid, method, path, walked{query: query, body: body})
	if status != http.StatusOK {
		var e api.Error
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			h.t.Fatalf("%s %s: %s", method, path, text)
		}
		return status, &e
	}
	if document != nil {
		if err := json.Unmarshal([]byte(text), document); err != nil {
			h.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return status, nil
}

func (h *host) install(uid uint32, user, text string) (api.Installed, *api.Error) {
	h.t.Helper()
	request, err := json.Marshal(api.InstallRequest{User: user, File: "-", Text: []byte(text)})
	if err != nil {
		h.t.Fatal(err)
	}
	var done api.Installed
	_, refusal := h.ask(uid, "POST", "/v1/crontab/install", string(request), &done)
	return done, refusal
}

// file writes a crontab below the test's root and returns its path.
func (h *host) file(path, text string, mode os.FileMode) string {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// annsCrontab installs a crontab with a secret for ann; revision 1 is the state without a crontab.
func annsCrontab(t *testing.T, w *world) {
	h := newHost(t, w)
	if _, e := h.install(annUID, "", "* * * * * ann-secret\n"); e != nil {
		t.Fatal(e)
	}
}

// The status reports what a user must not do, with the same rules as the requests themselves.
func TestStatusTellsWhatIsDenied(t *testing.T) {
	h := newHost(t, newWorld(t, annsTable))
	if _, e := h.install(annUID, "", "#@ name=own\n* * * * * true\n"); e != nil {
		t.Fatal(e)
	}
	file, _ := crontab.Parse(filepath.Join(h.places.Users, "ann"), "#@ name=own\n* * * * * true\n", crontab.Config{Owner: "ann", Zone: time.LoadLocation})
	system, _ := crontab.Parse("/etc/cron.d/etl", annsTable, crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
	h.Step(event.Load{Crontabs: []*crontab.File{system, file}})
	h.file(h.places.Deny, "bob\n", 0o644)
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
		var st api.Status
		h.ask(tc.uid, "GET", "/v1/status", "", &st)
		for name, why := range map[string]string{"reload": st.Denied.Reload, "entries": st.Denied.Entries, "crontab": st.Denied.Crontab} {
			if may := slices.Contains(tc.may, name); may != (why == "") {
				t.Errorf("uid %d: %s is denied for %q, may is %t", tc.uid, name, why, may)
			}
		}
		if _, e := h.ask(tc.uid, "GET", "/v1/file", "", nil); (e == nil) != (st.Denied.Crontab == "") {
			t.Errorf("uid %d: its own table is answered with %v, and it was told %q", tc.uid, e, st.Denied.Crontab)
		}
		if _, e := h.ask(tc.uid, "GET", "/v1/file?file=/etc/cron.d/etl", "", nil); (e != nil && e.Kind == api.NotAllowed) != (st.Denied.Entries != "") {
			t.Errorf("uid %d: another table is answered with %v, and it was told %q", tc.uid, e, st.Denied.Entries)
		}
		if _, e := h.ask(tc.uid, "POST", "/v1/reload", "", nil); (e != nil) != (st.Denied.Reload != "") {
			t.Errorf("uid %d: a reload is answered with %v, and it was told %q", tc.uid, e, st.Denied.Reload)
		}
		r := h.reader(h.server(), tc.uid)
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
		h := newHost(t, newWorld(t, annsTable))
		if _, status := asked[api.Installed](h.world, annUID, "POST", "/v1/file/install", "", `{"user":"ann","text":"Iwo=","verb":"`+verb+`"}`); status != http.StatusOK {
			t.Fatalf("%q: status %d", verb, status)
		}
		acts := h.Audited()
		if len(acts) != 1 || acts[0].What != want {
			t.Errorf("%q: the audit log has %+v, want %s", verb, acts, want)
		}
	}
}
