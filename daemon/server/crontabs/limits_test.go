package crontabs

import (
	"context"
	"net/http"
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
	own := make(chan struct{}, 1)
	own <- struct{}{}
	ed.large.of.Store(uint32(annUID), own) // ann has one in progress
	ask(bobUID, "POST", "/v1/crontab/install", large, http.StatusOK)
	ask(annUID, "POST", "/v1/crontab/install", `{"text":"Iwo="}`, http.StatusOK)

	takeAll(t, ed.large.all)
	ask(0, "POST", "/v1/crontab/install", large, http.StatusOK)
	ask(bobUID, "GET", "/v1/crontab", "", http.StatusOK) // it is small now
	go func() { <-ed.large.all }()                       // one ends
	ask(bobUID, "POST", "/v1/crontab/install", large, http.StatusOK)
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
	h := newHost(t)
	if _, e := h.install(0, "ann", largeCrontab); e != nil {
		t.Fatal(e)
	}
	ed := h.editor()
	takeAll(t, ed.large.all)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as if the time were over
	for _, request := range [][3]string{
		{"GET", "/v1/crontab"}, {"POST", "/v1/crontab/install", strings.Repeat(" ", call.MaxBody+1)}, {"GET", "/v1/revision?revision=1"},
	} {
		if status, text := h.walk(ctx, ed, annUID, request[0], request[1], request[2]); status != http.StatusConflict {
			t.Errorf("%s %s: status %d, %s; want a conflict", request[0], request[1], status, text)
		}
	}
	if own, _ := ed.large.of.Load(uint32(annUID)); len(own.(chan struct{})) != 0 {
		t.Error("a refused user still has a slot")
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
