package crontabs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account/accounttest"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// handlers are the requests about crontabs.
var handlers = map[string]func(*Editor, context.Context, *call.Call) error{
	"GET /v1/crontab":          (*Editor).Show,
	"POST /v1/crontab/install": (*Editor).Install,
	"POST /v1/crontab/remove":  (*Editor).Remove,
	"POST /v1/crontab/edited":  (*Editor).EndEdit,
	"GET /v1/crontabs":         (*Editor).List,
	"GET /v1/revisions":        (*Editor).ListRevisions,
	"GET /v1/revision":         (*Editor).ShowRevision,
	"POST /v1/undo":            (*Editor).Undo,
}

const ( // uids of the users in the tests
	annUID  = 20001
	bobUID  = 20002
	selfUID = 20003 // of the daemon
	noneUID = 20004 // no user
)

var users = accounttest.Users{"root": 0, "ann": annUID, "bob": bobUID, "cronring": selfUID}

// host has crontabs below a directory of the test, and loads nothing by itself.
type host struct {
	t           *testing.T
	crontabs    *Options
	places      spool.Paths
	now         time.Time
	view        *view.View
	diagnostics []crontab.Diagnostic
	refused     []spool.Refusal
	mu          sync.Mutex // held with the next two
	reloads     int
	log         []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	hosttest.Root(t, "only root can give crontabs to users")
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { history.Close() })
	h := &host{t: t, now: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), view: engine.New(engine.State{}).View()}
	thisHost := spool.Host{Family: crontab.Debian, Zone: time.UTC}
	h.places = thisHost.Paths(t.TempDir())
	h.crontabs = &Options{
		Host: thisHost, Paths: h.places, Accounts: users, Revisions: history, Version: "1.2.3",
		Note: func(pid int, who, word, text string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.log = append(h.log, fmt.Sprintf("%d (%s) %s (%s)", pid, who, word, text))
		},
	}
	return h
}

func (h *host) Reload(context.Context) ([]crontab.Diagnostic, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reloads++
	if len(h.refused) > 0 { // as the daemon does
		return nil, &api.Error{Kind: api.Internal, What: "not everything in the files is in force", Why: h.refused[0].Path + " is not read"}
	}
	return nil, nil
}

func (h *host) Diagnostics() []crontab.Diagnostic { return h.diagnostics }

func (h *host) Refused() []spool.Refusal { return h.refused }

func (h *host) editor() *Editor { return New(h.crontabs, h, users.Name) }

// lines returns the log, and empties it.
func (h *host) lines() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := strings.Join(h.log, "\n")
	h.log = nil
	return all
}

// walk sends a request as a user, and returns the answer. The path can have a query.
func (h *host) walk(ctx context.Context, ed *Editor, uid uint32, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	name, _ := users.Name(uid)
	peer := call.Peer{UID: uid, Name: name, Admin: uid == 0 || uid == selfUID}
	r = r.WithContext(call.WithPeer(ctx, func() call.Peer { return peer }, func() int { return 0 }))
	w := httptest.NewRecorder()
	c := call.New(h.view, h.now, w, r)
	if err := handlers[method+" "+r.URL.Path](ed, r.Context(), c); err != nil {
		c.Fail(err)
	}
	return w.Code, w.Body.String()
}

// ask sends a request as an account and reads the answer into document.
func (h *host) ask(uid uint32, method, path, body string, document any) (int, *api.Error) {
	h.t.Helper()
	status, text := h.walk(h.t.Context(), h.editor(), uid, method, path, body)
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

func (h *host) post(uid uint32, path string, request any) (api.Installed, *api.Error) {
	h.t.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		h.t.Fatal(err)
	}
	var done api.Installed
	_, refusal := h.ask(uid, "POST", path, string(text), &done)
	return done, refusal
}

func (h *host) install(uid uint32, user, text string) (api.Installed, *api.Error) {
	h.t.Helper()
	return h.post(uid, "/v1/crontab/install", api.CrontabFileRequest{User: user, Source: "-", Text: []byte(text), Strict: true})
}

func (h *host) remove(uid uint32, user string) (api.Installed, *api.Error) {
	h.t.Helper()
	return h.change(uid, api.CrontabFileRequest{User: user, Gone: true, Strict: true})
}

func (h *host) crontab(uid uint32, query string) api.CrontabText {
	h.t.Helper()
	c, e := h.crontabText(uid, query)
	if e != nil {
		h.t.Fatalf("GET crontab: %v", e)
	}
	return c
}

// file writes a crontab below the test's root and returns its path.
func (h *host) file(path, text string, mode os.FileMode) string {
	h.t.Helper()
	filetest.Write(h.t, path, text, mode)
	return path
}

func (h *host) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *host) crontabText(uid uint32, query string) (api.CrontabText, *api.Error) {
	h.t.Helper()
	var t api.CrontabText
	_, e := h.ask(uid, "GET", "/v1/crontab?"+query, "", &t)
	return t, e
}

func (h *host) change(uid uint32, r api.CrontabFileRequest) (api.Installed, *api.Error) {
	h.t.Helper()
	if r.Gone {
		return h.post(uid, "/v1/crontab/remove", r)
	}
	return h.post(uid, "/v1/crontab/install", r)
}
