package crontabs

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

const annUID, bobUID = 20001, 20002

// people are the users of the tests.
type people map[string]uint32

func (p people) Find(_ context.Context, name string) (account.Account, error) {
	uid, ok := p[name]
	if !ok {
		return account.Account{}, &account.UnknownError{Name: name}
	}
	return account.Account{Name: name, UID: uid, GID: uid}, nil
}

// quietLoader has read no crontab.
type quietLoader struct{}

func (quietLoader) Reload(context.Context) ([]crontab.Diagnostic, error) { return nil, nil }
func (quietLoader) Diagnostics() []crontab.Diagnostic                    { return nil }
func (quietLoader) Refused() []spool.Refusal                             { return nil }

func newEditor(t *testing.T) *Editor {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give crontabs to users")
	}
	history, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { history.Close() })
	host := spool.Host{Family: crontab.Debian, Zone: time.UTC}
	return New(&Options{
		Host: host, Places: host.Places(t.TempDir()), Accounts: people{"ann": annUID, "bob": bobUID, "root": 0}, Revisions: history,
	}, quietLoader{}, nil)
}

// ask sends a request to a handler.
func ask(t *testing.T, handle func(context.Context, *call.Call) error, p call.Peer, method, body string, want int) {
	t.Helper()
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r = r.WithContext(call.WithPeer(r.Context(), func() call.Peer { return p }, func() int { return 0 }))
	w := httptest.NewRecorder()
	c := call.New(nil, time.Now(), w, r)
	if err := handle(r.Context(), c); err != nil {
		c.Fail(err)
	}
	if w.Code != want {
		t.Errorf("%s %s: status %d, want %d: %.200s", p, method, w.Code, want, w.Body)
	}
}

var (
	root = call.Peer{Name: "root", Admin: true}
	ann  = call.Peer{UID: annUID, Name: "ann"}
	bob  = call.Peer{UID: bobUID, Name: "bob"}
)

// largeCrontab has more bytes than a small request may have.
var largeCrontab = strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", call.MaxBody/1024+1)

// Large crontabs that are sent or read slowly delay other large ones, but no small ones; those of
// one user delay only the user's own.
func TestLargeCrontabsWaitForRoom(t *testing.T) {
	ed := newEditor(t)
	large := `{"text":"Iwo="}` + strings.Repeat(" ", call.MaxBody)
	own := make(chan struct{}, 1)
	own <- struct{}{}
	ed.large.of.Store(uint32(annUID), own) // ann has one in progress
	ask(t, ed.Install, bob, "POST", large, http.StatusOK)
	ask(t, ed.Install, ann, "POST", `{"text":"Iwo="}`, http.StatusOK)

	takeAll(t, ed.large.all)
	ask(t, ed.Install, root, "POST", large, http.StatusOK)
	ask(t, ed.Show, bob, "GET", "", http.StatusOK) // it is small now
	go func() { <-ed.large.all }()                 // one ends
	ask(t, ed.Install, bob, "POST", large, http.StatusOK)
	if len(ed.large.all) != maxLarge-1 || len(own) != 1 {
		t.Errorf("%d are in progress, and %d of ann's; want %d and 1", len(ed.large.all), len(own), maxLarge-1)
	}
}

// takeAll takes all slots for large crontabs, as different users.
func takeAll(t *testing.T, slots chan<- struct{}) {
	t.Helper()
	for n := range maxLarge {
		select {
		case slots <- struct{}{}:
		default:
			t.Fatalf("%d of %d slots are free", n, maxLarge)
		}
	}
}

func TestLargeCrontabsWithoutRoomAreRefused(t *testing.T) {
	ed := newEditor(t)
	text, err := json.Marshal(api.InstallRequest{User: "ann", Text: []byte(largeCrontab)})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, ed.Install, root, "POST", string(text), http.StatusOK)
	takeAll(t, ed.large.all)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as if the time were over
	show := func(_ context.Context, c *call.Call) error { return ed.Show(ctx, c) }
	ask(t, show, ann, "GET", "", http.StatusConflict)
	install := func(_ context.Context, c *call.Call) error { return ed.Install(ctx, c) }
	ask(t, install, ann, "POST", strings.Repeat(" ", call.MaxBody+1), http.StatusConflict)
	if _, err := ed.large.enter(ctx, &call.Call{Peer: ann, Writer: httptest.NewRecorder()}, -1); api.KindOf(err) != api.Conflict {
		t.Errorf("an unknown number of bytes: %v, want a conflict", err)
	}
	if own, _ := ed.large.of.Load(uint32(annUID)); len(own.(chan struct{})) != 0 {
		t.Error("a refused user still has a slot")
	}
}
