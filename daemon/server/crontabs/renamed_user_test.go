package crontabs

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/store/revision"
)

// An administrator may reuse the name of a deleted user. The new user does not see the old one's
// crontabs, which may contain passwords.
func TestRevisionsAreNotInheritedWithAName(t *testing.T) {
	h := newHost(t)
	old := revision.Revision{
		File: filepath.Join(h.places.Users, "ann"), User: "ann", UID: annUID + 100, By: "ann",
		At: h.now, How: revision.Installed, Text: []byte("PASSWORD=secret\n"),
	}
	id, err := h.crontabs.Revisions.SaveRevision(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.revisions(annUID, ""); got != "" {
		t.Errorf("ann sees %q of the ann before her", got)
	}
	if _, e := h.ask(annUID, "GET", fmt.Sprintf("/v1/revision?revision=%d", id), "", nil); e == nil || e.Kind != api.NotFound {
		t.Errorf("revision %d shown to the new ann: %v, want not-found", id, e)
	}
	for _, r := range []api.UndoRequest{{}, {Revision: id}} {
		if done, e := h.post(annUID, "/v1/undo", r); e == nil {
			t.Errorf("undo %+v restored revision %d", r, done.Restored)
		}
	}
	if c := h.crontab(annUID, ""); !c.Missing {
		t.Errorf("ann's table says %q, want none", c.Text)
	}
	if got, want := h.revisions(0, ""), fmt.Sprintf("%d install ann", id); got != want {
		t.Errorf("root sees %q, want %q", got, want)
	}
	if _, e := h.install(annUID, "", "# mine\n"); e != nil {
		t.Fatal(e)
	}
	if got, want := h.revisions(annUID, ""), fmt.Sprintf("%d install ann\n%d seen gone", id+2, id+1); got != want {
		t.Errorf("ann sees %q, want %q", got, want)
	}
}
