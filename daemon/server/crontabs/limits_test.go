package crontabs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/server/call"
)

// largeCrontab has more bytes than a small request may have.
var largeCrontab = strings.Repeat("#"+strings.Repeat("x", 1022)+"\n", call.MaxBody/1024+1)

// Large crontabs that are sent or read slowly delay other large ones, but no small ones; those of
// one user delay only the user's own.
func TestLargeCrontabsWaitForRoom(t *testing.T) {
	h := newHost(t)
	ed := h.editor()
	ask := func(uid uint32, method, path, body string, want int) {
		t.Helper()
		if status, text := h.walk(t.Context(), ed, uid, method, path, body); status != want {
			t.Errorf("uid %d, %s %s: status %d, want %d: %.200s", uid, method, path, status, want, text)
		}
	}
	if _, e := h.install(bobUID, "", largeCrontab); e != nil {
		t.Fatal(e)
	}
	large := `{"text":"Iwo="}` + strings.Repeat(" ", call.MaxBody)
	ann := takeLarge(t, ed, call.Peer{UID: annUID, Name: "ann"}) // ann has one in progress
	ask(bobUID, "POST", "/v1/crontab/install", large, http.StatusOK)
	ask(annUID, "POST", "/v1/crontab/install", `{"text":"Iwo="}`, http.StatusOK)

	ann()
	leave := takeAll(t, ed)
	ask(0, "POST", "/v1/crontab/install", large, http.StatusOK)
	ask(bobUID, "GET", "/v1/crontab", "", http.StatusOK) // it is small now
	go leave[0]()                                        // one ends
	ask(bobUID, "POST", "/v1/crontab/install", large, http.StatusOK)
	if n := ed.large.Users(); n != maxLarge-1 {
		t.Errorf("%d are in progress, want %d", n, maxLarge-1)
	}
}

// checkedWriter calls check before a part of the answer is sent.
type checkedWriter struct {
	*httptest.ResponseRecorder
	check func()
}

func (w checkedWriter) Write(p []byte) (int, error) {
	w.check()
	return w.ResponseRecorder.Write(p)
}

// While users read large crontabs slowly, other users can request large ones.
func TestLargeCrontabsThatAreReadTakeNoRoom(t *testing.T) {
	h := newHost(t)
	done, e := h.install(annUID, "", largeCrontab)
	if e != nil {
		t.Fatal(e)
	}
	if _, e := h.install(annUID, "", largeCrontab+"# more\n"); e != nil {
		t.Fatal(e)
	}
	ed := h.editor()
	for path, show := range map[string]func(context.Context, *call.Call) error{
		"/v1/crontab": ed.Show, fmt.Sprintf("/v1/revision?revision=%d", done.Before+1): ed.ShowRevision,
	} {
		w := checkedWriter{httptest.NewRecorder(), func() {
			if n := ed.large.Users(); n != 0 {
				t.Errorf("GET %s: %d crontabs are in progress while the caller reads", path, n)
			}
		}}
		r := httptest.NewRequest("GET", path, nil)
		peer := call.Peer{UID: annUID, Name: "ann"}
		r = r.WithContext(call.WithPeer(t.Context(), func() call.Peer { return peer }, func() int { return 0 }))
		if err := show(r.Context(), call.New(h.view, h.now, w, r)); err != nil || w.Body.Len() < len(largeCrontab) {
			t.Errorf("GET %s: error %v, %d bytes", path, err, w.Body.Len())
		}
	}
}

// takeLarge takes the slot for a large crontab of a user.
func takeLarge(t *testing.T, ed *Editor, p call.Peer) (leave func()) {
	t.Helper()
	leave, err := ed.large.Enter(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// takeAll takes all slots for large crontabs, as other users.
func takeAll(t *testing.T, ed *Editor) (leave []func()) {
	t.Helper()
	for n := range maxLarge {
		leave = append(leave, takeLarge(t, ed, call.Peer{UID: uint32(n + 1), Name: "other"}))
	}
	return leave
}

func TestLargeCrontabsWithoutRoomAreRefused(t *testing.T) {
	h := newHost(t)
	if _, e := h.install(0, "ann", largeCrontab); e != nil {
		t.Fatal(e)
	}
	ed := h.editor()
	takeAll(t, ed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as if the time were over
	for _, request := range [][3]string{
		{"GET", "/v1/crontab"}, {"POST", "/v1/crontab/install", strings.Repeat(" ", call.MaxBody+1)}, {"GET", "/v1/revision?revision=1"},
	} {
		if status, text := h.walk(ctx, ed, annUID, request[0], request[1], request[2]); status != http.StatusConflict {
			t.Errorf("%s %s: status %d, %s; want a conflict", request[0], request[1], status, text)
		}
	}
	if n := ed.large.Users(); n != maxLarge {
		t.Errorf("%d users have a slot or wait for one, want %d: a refused user does not", n, maxLarge)
	}
}

// TestUidsWithoutAUserShareALimit: a user can have thousands of such uids, and the daemon keeps the
// limit of each user.
func TestUidsWithoutAUserShareALimit(t *testing.T) {
	ed := New(nil, nil, nil)
	for uid := range uint32(1000) {
		end, err := ed.pace(t.Context(), &call.Call{Peer: call.Peer{UID: 100_000 + uid}})
		if err != nil {
			t.Fatal(err)
		}
		end()
	}
	kept := 0
	ed.changes.of.Range(func(any, any) bool { kept++; return true })
	if kept != 1 {
		t.Errorf("1,000 uids without a user: got %d limits, want one", kept)
	}
}
