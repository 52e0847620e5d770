package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

const emitCrontab = `
#@ name=own on=event:ready
0 0 31 2 * ann true
#@ name=invited on=event:bob/ready
0 0 31 2 * ann true
`

// TestEmitStartsOnlyWhoListens: a user starts jobs of others only if these name the user.
func TestEmitStartsOnlyWhoListens(t *testing.T) {
	for _, tc := range []struct {
		uid    uint32
		body   string
		status int
		runs   int // as the caller sees them
		live   int
	}{
		{annUID, `{"event":"ready"}`, 200, 1, 1},
		{annUID, `{"event":"other"}`, 200, 0, 0},
		{bobUID, `{"event":"ready"}`, 200, 0, 1},
		{bobUID, `{"event":"ready","user":"ann"}`, http.StatusForbidden, 0, 0},
		{bobUID, `{"event":"ready","user":"root"}`, http.StatusForbidden, 0, 0},
		{0, `{"event":"ready"}`, 200, 1, 1},
		{0, `{"event":"ready","user":"bob"}`, 200, 1, 1},
		{0, `{"event":"bob/ready"}`, http.StatusBadRequest, 0, 0},
		{annUID, `{"event":"ready","env":["PATH=/tmp","n=1"]}`, 200, 1, 1},
		{annUID, `{"event":"ready","env":["n=` + strings.Repeat("x", 16000) + `"]}`, 200, 1, 1},
		{annUID, `{"event":"ready","env":["user=root"]}`, http.StatusBadRequest, 0, 0},
	} {
		w := newWorld(t, emitCrontab)
		e, status := asked[api.Emitted](w, tc.uid, "POST", "/v1/emit", "", tc.body)
		if status != tc.status || len(e.Runs) != tc.runs {
			t.Errorf("uid %d, %s: got %d, %d runs, want %d, %d", tc.uid, tc.body, status, len(e.Runs), tc.status, tc.runs)
		}
		if live := len(w.View().Runs()); live != tc.live {
			t.Errorf("uid %d, %s: %d runs, want %d", tc.uid, tc.body, live, tc.live)
		}
	}
}

// TestEmissionsOfOthersAreNotSeen: only administrators see the events of all users.
func TestEmissionsOfOthersAreNotSeen(t *testing.T) {
	w := newWorld(t, emitCrontab)
	for _, uid := range []uint32{annUID, bobUID} {
		asked[api.Emitted](w, uid, "POST", "/v1/emit", "", `{"event":"ready"}`)
	}
	for uid, want := range map[uint32]int{annUID: 1, bobUID: 1, 0: 2} {
		if all, _ := asked[api.Emissions](w, uid, "GET", "/v1/emit", "", ""); len(all.Events) != want {
			t.Errorf("uid %d sees %v, want %d events", uid, all.Events, want)
		}
	}
}
