package server

import (
	"net/http"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

// TestBeatOfAnother: nobody can keep a run alive from outside of it, neither the user of the run
// nor another one nor root.
func TestBeatOfAnother(t *testing.T) {
	w := annsWorld(t)
	for _, uid := range []uint32{annUID, bobUID, 0} {
		for _, body := range []string{`{"run":1}`, `{"run":0}`, `{"run":99999}`} {
			if _, status := asked[api.Beaten](w, uid, "POST", "/v1/beat", "", body); status != http.StatusConflict {
				t.Errorf("uid %d, %s: status %d, want %d", uid, body, status, http.StatusConflict)
			}
		}
	}
}
