package crontabs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/store/revision"
)

func (h *host) revisions(uid uint32, query string) string {
	h.t.Helper()
	var list api.Revisions
	if _, e := h.ask(uid, "GET", "/v1/revisions?"+query, "", &list); e != nil {
		return string(e.Kind)
	}
	var lines []string
	for _, r := range list.Revisions {
		line := fmt.Sprintf("%d %s", r.ID, r.How)
		if r.By != "" {
			line += " " + r.By
		}
		if r.Gone {
			line += " gone"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestUndoGoesBackAndForth(t *testing.T) {
	h := newHost(t)
	must := func(e *api.Error) {
		t.Helper()
		if e != nil {
			t.Fatal(e)
		}
	}
	says := func(want string) {
		t.Helper()
		c := h.crontab(annUID, "")
		got := string(c.Text)
		if c.Missing {
			got = "none"
		}
		if got != want {
			t.Errorf("the table says %q, want %q", got, want)
		}
	}
	_, e := h.install(annUID, "", "# 1\n")
	must(e)
	_, e = h.install(annUID, "", "# 2\n")
	must(e)
	gone, e := h.remove(annUID, "")
	must(e)
	says("none")
	done, e := h.post(annUID, "/v1/undo", api.UndoRequest{}) // the removal
	must(e)
	if says("# 2\n"); done.Restored != gone.Before {
		t.Errorf("restored %d, the removal named %d", done.Restored, gone.Before)
	}
	_, e = h.post(annUID, "/v1/undo", api.UndoRequest{}) // the undo
	must(e)
	says("none")
	_, e = h.post(annUID, "/v1/undo", api.UndoRequest{Revision: 2})
	must(e)
	says("# 1\n")
	want := "7 undo ann\n6 undo ann gone\n5 undo ann\n4 remove ann gone\n3 install ann\n2 install ann\n1 seen gone"
	if got := h.revisions(annUID, ""); got != want {
		t.Errorf("revisions:\n%s\nwant:\n%s", got, want)
	}
	if disk, _ := os.ReadFile(filepath.Join(h.places.Users, "ann")); !strings.HasPrefix(string(disk), "# DO NOT EDIT") {
		t.Errorf("the restored table has no header: %q", disk)
	}
}

func TestUndoOfFirstInstallRemoves(t *testing.T) {
	h := newHost(t)
	if _, e := h.post(annUID, "/v1/undo", api.UndoRequest{}); e == nil || e.Kind != api.Conflict {
		t.Errorf("undo of nothing: %v, want a conflict", e)
	}
	if _, e := h.install(annUID, "", "# 1\n"); e != nil {
		t.Fatal(e)
	}
	if done, e := h.post(annUID, "/v1/undo", api.UndoRequest{}); e != nil || !done.Gone || !h.crontab(annUID, "").Missing {
		t.Errorf("undo of the first: %+v, %v", done, e)
	}
}

// A version that was written without the daemon is kept before it is replaced.
func TestInstallKeepsWhatTheDaemonHasNotSeen(t *testing.T) {
	h := newHost(t)
	if _, e := h.install(annUID, "", "# 1\n"); e != nil {
		t.Fatal(e)
	}
	filetest.Write(t, filepath.Join(h.places.Users, "ann"), "# by hand\n", 0o600)
	done, e := h.install(annUID, "", "# 2\n")
	if e != nil || done.Before != 3 {
		t.Errorf("install: %+v, %v; want revision 3 to undo it", done, e)
	}
	if _, e := h.post(annUID, "/v1/undo", api.UndoRequest{}); e != nil {
		t.Error(e)
	}
	if c := h.crontab(annUID, ""); string(c.Text) != "# by hand\n" {
		t.Errorf("after undo the table says %q", c.Text)
	}
}

func TestRevisionsPerPeer(t *testing.T) {
	h := newHost(t)
	if _, e := h.install(annUID, "", "# ann\n"); e != nil {
		t.Fatal(e)
	}
	if _, e := h.install(bobUID, "", "# bob\n"); e != nil {
		t.Fatal(e)
	}
	// Bob's daemon-wide things: a system table in whose account column bob is.
	if _, err := h.crontabs.Revisions.SaveRevision(t.Context(), revision.Revision{File: h.places.Crontab, User: "bob", At: h.now, How: "seen"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		uid         uint32
		query, want string
	}{
		{0, "", "5 seen\n4 install bob\n3 seen gone\n2 install ann\n1 seen gone"},
		{0, "user=ann", "2 install ann\n1 seen gone"},
		{annUID, "", "2 install ann\n1 seen gone"},
		{bobUID, "user=bob", "4 install bob\n3 seen gone"},
		{bobUID, "file=" + h.places.Users + "/bob", "4 install bob\n3 seen gone"},
		{bobUID, "file=" + h.places.Users + "/ann", "not-allowed"},
		{bobUID, "file=" + h.places.Crontab, "not-allowed"},
		{bobUID, "user=ann", "not-allowed"},
		{noneUID, "", "not-allowed"},
	} {
		if got := h.revisions(test.uid, test.query); got != test.want {
			t.Errorf("uid %d, %q:\n%s\nwant:\n%s", test.uid, test.query, got, test.want)
		}
	}
	for _, id := range []int64{2, 5, 99} {
		if _, e := h.post(bobUID, "/v1/undo", api.UndoRequest{Revision: id}); e == nil || e.Kind != api.NotFound {
			t.Errorf("bob undoes to revision %d: %v, want not-found", id, e)
		}
	}
	if _, e := h.post(bobUID, "/v1/undo", api.UndoRequest{User: "ann"}); e == nil || e.Kind != api.NotAllowed {
		t.Errorf("bob undoes ann's: %v", e)
	}
}

func TestUndoRestoresSystemCrontabs(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.places.CronD, "backup")
	if err := os.MkdirAll(h.places.CronD, 0o755); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, path, "1 * * * * root new\n", 0o640)
	old, err := h.crontabs.Revisions.SaveRevision(t.Context(), revision.Revision{File: path, User: "root", At: h.now, How: "seen", Text: []byte("1 * * * * root old\n")})
	if err != nil {
		t.Fatal(err)
	}
	done, e := h.post(0, "/v1/undo", api.UndoRequest{Revision: old})
	if e != nil || done.Entries != 1 || done.Before == 0 {
		t.Fatalf("undo: %+v, %v", done, e)
	}
	text, _ := os.ReadFile(path)
	info, err := os.Stat(path)
	if err != nil || string(text) != "1 * * * * root old\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("restored: %q, %v, %v", text, info.Mode(), err)
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{Revision: done.Before}); e != nil {
		t.Error(e)
	}
	if text, _ := os.ReadFile(path); string(text) != "1 * * * * root new\n" {
		t.Errorf("back again: %q", text)
	}
	if got, want := h.lines(), strings.TrimSuffix(strings.Repeat("0 (root) REPLACE ("+path+")\n", 2), "\n"); got != want {
		t.Errorf("log: %q, want %q", got, want)
	}
	// The history is not trusted to name what may be read and written.
	victim := h.file(filepath.Join(filepath.Dir(h.places.CronD), "passwd"), "secret\n", 0o600)
	evil, err := h.crontabs.Revisions.SaveRevision(t.Context(), revision.Revision{File: victim, User: "root", At: h.now, How: "seen", Text: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{Revision: evil}); e == nil {
		t.Error("a file that is no table was written")
	}
	if got, kept := h.read(victim), h.revisions(0, "file="+victim); got != "secret\n" || kept != fmt.Sprint(evil, " seen") {
		t.Errorf("the file says %q, and the history has %q of it", got, kept)
	}
}

// The newest change of a file can be named by the file: a system table by root
// alone, one's own by everybody.
func TestUndoOfFile(t *testing.T) {
	h := newHost(t)
	h.file(h.places.Crontab, "0 4 * * * root true\n", 0o644)
	for _, text := range []string{"0 5 * * * root true\n", "0 6 * * * root true\n"} {
		if _, e := h.change(0, api.CrontabFileRequest{File: h.places.Crontab, Text: []byte(text)}); e != nil {
			t.Fatal(e)
		}
	}
	if _, e := h.post(annUID, "/v1/undo", api.UndoRequest{File: h.places.Crontab}); e == nil || e.Kind != api.NotAllowed {
		t.Errorf("undo of a system table by ann: got %v, want that it is not allowed", e)
	}
	if done, e := h.post(0, "/v1/undo", api.UndoRequest{File: h.places.Crontab}); e != nil || done.File != h.places.Crontab ||
		h.read(h.places.Crontab) != "0 5 * * * root true\n" {
		t.Errorf("undo of a system table: %+v, %v, and it says %q", done, e, h.read(h.places.Crontab))
	}
	own := filepath.Join(h.places.Users, "ann")
	if _, e := h.install(annUID, "", "# 1\n"); e != nil {
		t.Fatal(e)
	}
	if _, e := h.post(bobUID, "/v1/undo", api.UndoRequest{File: own}); e == nil || e.Kind != api.NotAllowed {
		t.Errorf("undo of ann's table by bob: got %v, want that it is not allowed", e)
	}
	if done, e := h.post(annUID, "/v1/undo", api.UndoRequest{File: own}); e != nil || !done.Gone {
		t.Errorf("undo of ann's own table: %+v, %v, want that it is gone again", done, e)
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{File: own, User: "ann"}); e == nil {
		t.Error("undo of a file and a user: got no error")
	}
}
