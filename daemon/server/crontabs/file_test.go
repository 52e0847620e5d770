package crontabs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
)

func TestCrontabOfSystemChangesAndComesBack(t *testing.T) {
	h := newHost(t)
	path := h.file(filepath.Join(h.places.CronD, "etl"), "# x\r\n0 5 * * * root true\r\n", 0o640)
	before, e := h.crontabText(0, "file="+path)
	if e != nil || before.Format != api.FormatSystem || before.Entries != 1 || before.Owner != "root" || before.Mode != 0o640 || string(before.Text) != h.read(path) {
		t.Fatalf("read: %+v, %v", before, e)
	}
	const text = "# x\r\n0 6 * * * root true\r\n"
	done, e := h.change(0, api.CrontabFileRequest{File: path, Text: []byte(text), Base: before.Sum})
	if e != nil || done.Entries != 1 || done.Before == 0 || h.reloads != 1 {
		t.Fatalf("change: %+v, %v, %d reloads", done, e, h.reloads)
	}
	if info, err := os.Stat(path); h.read(path) != text || err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("changed: %q, %v, want %q and the mode of before", h.read(path), info.Mode(), text)
	}
	if got := h.lines(); !strings.Contains(got, "(root) REPLACE ("+path+")") {
		t.Errorf("log: %q, want a REPLACE", got)
	}
	if _, e := h.change(0, api.CrontabFileRequest{File: path, Text: []byte("# late\n"), Base: before.Sum}); e == nil || e.Kind != api.Conflict {
		t.Errorf("change of what was changed meanwhile: got %v, want a conflict", e)
	}
	if _, e := h.change(0, api.CrontabFileRequest{File: path, Gone: true}); e != nil {
		t.Errorf("remove: %v", e)
	}
	if now, e := h.crontabText(0, "file="+path); e != nil || !now.Missing || now.Sum != spool.NoCrontab {
		t.Errorf("removed: %+v, %v", now, e)
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{Revision: done.Before}); e != nil || h.read(path) != string(before.Text) {
		t.Errorf("undo: %v, %q, want %q", e, h.read(path), before.Text)
	}
}

func TestCrontabRefuses(t *testing.T) {
	h := newHost(t)
	broken := h.file(filepath.Join(h.places.CronD, "broken"), "61 * * * * root a\n", 0o644)
	secret := h.file(filepath.Join(t.TempDir(), "secret"), "secret\n", 0o600)
	link, pipe := filepath.Join(h.places.CronD, "link"), filepath.Join(h.places.CronD, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		uid  uint32
		r    api.CrontabFileRequest
		want api.Kind // "": it is done
	}{
		{"somebody else's place", 0, api.CrontabFileRequest{File: secret}, api.NotFound},
		{"no clean path", 0, api.CrontabFileRequest{File: h.places.CronD + "/../cron.d/x"}, api.NotFound},
		{"file and user", 0, api.CrontabFileRequest{File: broken, User: "ann"}, api.Usage},
		{"name that is passed over", 0, api.CrontabFileRequest{File: filepath.Join(h.places.CronD, "a.b"), Text: []byte("0 5 * * * root a\n")}, api.Usage},
		{"link", 0, api.CrontabFileRequest{File: link, Text: []byte("0 5 * * * root a\n")}, api.Internal},
		{"pipe", 0, api.CrontabFileRequest{File: pipe, Text: []byte("0 5 * * * root a\n")}, api.Internal},
		{"old error", 0, api.CrontabFileRequest{File: broken, Text: []byte("# x\n61 * * * * root a\n")}, ""},
		{"new error", 0, api.CrontabFileRequest{File: broken, Text: []byte("61 * * * * root a\n62 * * * * root a\n")}, api.Usage},
		{"nothing to remove", 0, api.CrontabFileRequest{File: filepath.Join(h.places.CronD, "none"), Gone: true}, api.NotFound},
		{"stranger", annUID, api.CrontabFileRequest{File: broken, Text: []byte("# x\n")}, api.NotAllowed},
		{"own table, by its path", annUID, api.CrontabFileRequest{File: filepath.Join(h.places.Users, "ann"), Text: []byte("0 5 * * * true\n")}, ""},
		{"own table", annUID, api.CrontabFileRequest{Text: []byte("0 6 * * * true\n")}, ""},
		{"another's table, by its path", bobUID, api.CrontabFileRequest{File: filepath.Join(h.places.Users, "ann"), Gone: true}, api.NotAllowed},
		{"without an account, a system crontab", noneUID, api.CrontabFileRequest{File: broken, Text: []byte("# x\n")}, api.NotAllowed},
		{"without an account, another's table", noneUID, api.CrontabFileRequest{File: filepath.Join(h.places.Users, "ann"), Gone: true}, api.NotAllowed},
		{"without an account", noneUID, api.CrontabFileRequest{Text: []byte("0 6 * * * true\n")}, api.NotAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, e := h.change(tc.uid, tc.r)
			var got api.Kind
			if e != nil {
				got = e.Kind
			}
			if e != nil && strings.Contains(e.What, " -u") {
				t.Errorf("got %v about a flag of crontab(1)", e)
			}
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, e, tc.want)
			}
		})
	}
	if got := h.read(secret); got != "secret\n" {
		t.Errorf("what the link leads to: got %q, want it untouched", got)
	}
	if own, e := h.crontabText(annUID, ""); e != nil || string(own.Text) != "0 6 * * * true\n" || own.Above() != 3 || own.Account != "ann" {
		t.Errorf("own table: %+v, %v, want three lines above it", own, e)
	}
}

func TestCrontabsListsWhatMayBeChanged(t *testing.T) {
	h := newHost(t)
	path := h.file(filepath.Join(h.places.CronD, "etl"), "0 5 * * * root true\n61 * * * * root x\n0 0 13 * 5 root y\n", 0o644)
	bad := h.file(filepath.Join(h.places.CronD, "bad"), "0 5 * * * root true\n", 0o666)
	parsed, diagnostics := crontab.Parse(path, h.read(path), crontab.Config{Format: crontab.System})
	h.diagnostics, h.refused = diagnostics, []spool.Refusal{{Path: bad, Word: "INSECURE MODE", Why: "others may write it", Fix: "chmod go-w"}}
	x := engine.New(engine.State{})
	x.Step(job.Moment{Wall: h.now, Up: time.Hour}, event.Load{Crontabs: []*crontab.File{parsed}})
	h.view = x.View()
	if _, e := h.change(annUID, api.CrontabFileRequest{Text: []byte("0 6 * * * true\n")}); e != nil {
		t.Fatal(e)
	}
	list := func(uid uint32) []api.CrontabFile {
		var all api.CrontabFiles
		if _, e := h.ask(uid, "GET", "/v1/crontabs", "", &all); e != nil {
			t.Fatal(e)
		}
		return all.Crontabs
	}
	got := list(0)
	if len(got) != 3 || got[0].File != path || got[0].Entries != 2 || got[0].Errors != 1 || got[0].Warnings != 1 ||
		got[1].File != bad || got[1].Refused != "others may write it" || got[1].Mode != 0o666 || got[2].User != "root" || !got[2].Missing {
		t.Errorf("root's list: %+v", got)
	}
	if got := list(annUID); len(got) != 1 || got[0].User != "ann" || got[0].Revision == 0 || got[0].By != "ann" {
		t.Errorf("ann's list: %+v", got)
	}
	if got := list(bobUID); len(got) != 1 || got[0].User != "bob" || !got[0].Missing || got[0].Revision != 0 {
		t.Errorf("bob's list: %+v", got)
	}
}

// A daemon that was given its files by name touches those alone.
func TestCrontabsGivenByName(t *testing.T) {
	h := newHost(t)
	named := h.file(filepath.Join(t.TempDir(), "demo.crontab"), "0 5 * * * true\n", 0o644)
	h.crontabs.Files, h.crontabs.Host.Account = []string{named}, "root"
	done, e := h.change(0, api.CrontabFileRequest{File: named, Text: []byte("0 6 * * * true\n")})
	if e != nil || h.read(named) != "0 6 * * * true\n" {
		t.Fatalf("change: %v, %q", e, h.read(named))
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{Revision: done.Before}); e != nil || h.read(named) != "0 5 * * * true\n" {
		t.Errorf("undo: %v, %q", e, h.read(named))
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{File: named}); e != nil || h.read(named) != "0 6 * * * true\n" {
		t.Errorf("undo of the newest change: %v, %q", e, h.read(named))
	}
	for name, r := range map[string]api.UndoRequest{
		"a stranger": {File: named}, "a stranger, of another file": {File: h.places.Crontab},
	} {
		if _, e := h.post(annUID, "/v1/undo", r); e == nil || e.Kind != api.NotAllowed {
			t.Errorf("%s undid: got %v, want that it is not allowed", name, e)
		}
	}
	if _, e := h.post(0, "/v1/undo", api.UndoRequest{File: h.places.Crontab}); e == nil || e.Kind != api.NotFound {
		t.Errorf("undo of a file that is none of them: got %v, want that there is none", e)
	}
	for name, r := range map[string]api.CrontabFileRequest{
		"the host's table": {File: h.places.Crontab, Text: []byte("# x\n")}, "a user's table": {User: "ann"},
		"a user's table, by its path": {File: filepath.Join(h.places.Users, "ann")}, "its end": {File: named, Gone: true},
	} {
		if _, e := h.change(0, r); e == nil {
			t.Errorf("%s was changed", name)
		}
	}
	if _, e := h.change(0, api.CrontabFileRequest{File: named, Gone: true}); e == nil || e.Kind != api.Conflict || !strings.HasSuffix(e.Fix, "cronring reload") {
		t.Errorf("removal: got %v, want a conflict", e)
	}
	if _, e := h.change(annUID, api.CrontabFileRequest{File: named, Text: []byte("# x\n")}); e == nil || e.Kind != api.NotAllowed {
		t.Errorf("a stranger's change: got %v, want that it is not allowed", e)
	}
}

// Where a zone has no name the client's own holds.
func TestCrontabConfigNamesZone(t *testing.T) {
	text := api.CrontabText{Format: api.FormatSystem, Family: api.FamilyRHEL, Zone: "Europe/Paris"}
	c := text.Config(time.LoadLocation)
	if c.Format != crontab.System || c.Family != crontab.RHEL || c.Local.String() != "Europe/Paris" {
		t.Errorf("got %+v", c)
	}
	text.Zone = "no/such"
	if c := text.Config(time.LoadLocation); c.Local != time.Local {
		t.Errorf("got %v, want the local zone", c.Local)
	}
}
