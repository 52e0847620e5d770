package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// someTables are crontabs in every condition.
func someTables() []api.Table {
	at := func(d time.Duration) time.Time { return now.Add(-d) }
	const day = 24 * time.Hour
	return []api.Table{
		{File: "/etc/crontab", Owner: "root", Mode: 0o644, Entries: 4, Revision: 2, Changed: at(200 * day)},
		{File: "/etc/cron.d/etl", Owner: "root", Mode: 0o644, Entries: 6, Errors: 1, Warnings: 1, Revision: 31, Changed: at(17 * day), By: "ann"},
		{File: "/etc/cron.d/geoip", Owner: "root", Mode: 0o644, Entries: 1, Warnings: 2, Revision: 5, Changed: at(40 * day)},
		{File: "/etc/cron.d/writable", Owner: "root", Mode: 0o666, Refused: "its mode is 0666: others than the owner may write it", Fix: "chmod go-w /etc/cron.d/writable"},
		{File: "/var/spool/cron/crontabs/billing", User: "billing", Owner: "billing", Mode: 0o600, Entries: 1, Revision: 12, Changed: at(3 * day), By: "billing"},
		{File: "/var/spool/cron/crontabs/postgres", User: "postgres", Owner: "postgres", Mode: 0o600, Entries: 2, Revision: 30, Changed: at(26 * time.Hour), By: "postgres"},
		{File: "/var/spool/cron/crontabs/www", User: "www", Owner: "www", Mode: 0o600, Entries: 4, Revision: 29, Changed: at(131 * time.Second), By: "root"},
		{File: "/var/spool/cron/crontabs/root", User: "root", Missing: true},
	}
}

func someRevisions(api.RevisionQuery) ([]api.Revision, error) {
	return []api.Revision{
		{ID: 31, At: now.Add(-17 * 24 * time.Hour), By: "ann", How: "install", Size: 412},
		{ID: 28, At: now.Add(-18 * 24 * time.Hour), By: "root", How: "undo", Size: 389},
		{ID: 7, At: now.Add(-200 * 24 * time.Hour), How: "seen", Size: 301},
		{ID: 6, At: now.Add(-201 * 24 * time.Hour), By: "bob", How: "remove", Gone: true},
	}, nil
}

func filesDaemon() *fakeDaemon {
	return &fakeDaemon{
		tables:    func() ([]api.Table, error) { return someTables(), nil },
		revisions: someRevisions,
		table:     func(string, string) (api.TableText, error) { return etlTable(), nil },
		revision: func(id int64) (api.Revision, error) {
			return api.Revision{ID: id, Text: []byte(strings.Replace(etlText, "--since auto", "", 1))}, nil
		},
	}
}

func openFiles(t *testing.T, w *World, d Daemon) *Files {
	t.Helper()
	f := NewFiles()
	settle(t, f, w, d, f.Open(w))
	return f
}

// presses does what keys mean to a screen alone.
func presses(t *testing.T, s Screen, w *World, d Daemon, actions ...keys.Action) (rest []Effect) {
	t.Helper()
	for _, a := range actions {
		effects, _ := s.Act(w, a)
		rest = append(rest, settle(t, s, w, d, effects)...)
	}
	return rest
}

func TestFilesScreens(t *testing.T) {
	checkScreens(t, "files", func(v canvas.View, w *World) {
		f := openFiles(t, w, filesDaemon())
		presses(t, f, w, filesDaemon(), keys.Down)
		drawn(f, v, w)
	})
	checkScreens(t, "files-refused", func(v canvas.View, w *World) {
		f := openFiles(t, w, filesDaemon())
		presses(t, f, w, filesDaemon(), keys.Down, keys.Down, keys.Down)
		drawn(f, v, w)
	})
	checkScreens(t, "files-empty", func(v canvas.View, w *World) {
		d := filesDaemon()
		d.tables = func() ([]api.Table, error) { return nil, nil }
		drawn(openFiles(t, w, d), v, w)
	})
	checkScreens(t, "files-trouble", func(v canvas.View, w *World) {
		d := filesDaemon()
		d.tables = func() ([]api.Table, error) {
			return nil, &api.Error{Kind: api.NotAllowed, What: "cannot list crontabs", Why: "you are nobody", Fix: "ask as root"}
		}
		drawn(openFiles(t, w, d), v, w)
	})
	checkScreens(t, "files-hostile", func(v canvas.View, w *World) {
		d := filesDaemon()
		d.tables = func() ([]api.Table, error) {
			return []api.Table{{File: "/etc/cron.d/\u202etl\x1b[2J" + strings.Repeat("x", 90), Owner: "\x1b]0;x\x07", Refused: strings.Repeat("why ", 80)}}, nil
		}
		drawn(openFiles(t, w, d), v, w)
	})
	checkScreens(t, "files-versions", func(v canvas.View, w *World) {
		s := NewVersions(someTables()[1])
		settle(t, s, w, filesDaemon(), s.Open(w))
		presses(t, s, w, filesDaemon(), keys.Down)
		drawn(s, v, w)
	})
}

func TestFilesFilterNarrows(t *testing.T) {
	w, d := newWorld(t), filesDaemon()
	f := openFiles(t, w, d)
	presses(t, f, w, d, keys.Filter)
	for _, letter := range "post" {
		effects, ok := f.Type(w, Key{Name: string(letter), Text: string(letter)})
		if !ok {
			t.Fatalf("%q means nothing to the filter", letter)
		}
		settle(t, f, w, d, effects)
	}
	if f.tables.Len() != 1 || f.Current().User != "postgres" || f.peeked != f.Current().File {
		t.Errorf("filtered by post: got %v, want the crontab of postgres", f.tables.shown)
	}
	f.Type(w, Key{Name: "enter"})
	if _, ok := f.Act(w, keys.Back); !ok || f.tables.Len() != len(someTables()) {
		t.Errorf("esc leaves %d files, want all", f.tables.Len())
	}
	if _, ok := f.Act(w, keys.Back); ok {
		t.Error("a second esc is not left to the shell")
	}
}

func TestFilesOpenEditAndRestore(t *testing.T) {
	w, d := newWorld(t), filesDaemon()
	f := openFiles(t, w, d)
	presses(t, f, w, d, keys.Down)
	for action, want := range map[keys.Action]func(e Effect) bool{
		keys.Open:      func(e Effect) bool { s, ok := e.(Show); return ok && s.Action == keys.Edit },
		keys.Revisions: func(e Effect) bool { g, ok := e.(Goto); _, is := g.Screen.(*Versions); return ok && is },
		keys.External: func(e Effect) bool {
			x, ok := e.(Execute)
			return ok && strings.Join(x.Program().Args[1:], " ") == "edit --socket /run/cronring/cronring.sock -- /etc/cron.d/etl"
		},
	} {
		if rest := presses(t, f, w, d, action); len(rest) != 1 || !want(rest[0]) {
			t.Errorf("%s: got %+v", action, rest)
		}
	}
	w.Reach = []string{"-H", "ann@far"}
	if got, want := strings.Join(editArgs(w, "-x"), " "), "edit -H ann@far -- -x"; got != want {
		t.Errorf("a file of another host is edited with %q, want %q", got, want)
	}
	w.Status.Denied.Crontab = "it is in cron.deny"
	if why := f.Refuses(w, keys.Open); why != "it is in cron.deny" {
		t.Errorf("open without a right to a crontab: refused with %q", why)
	}
	w.Status.Denied.Crontab = ""
	s := NewVersions(someTables()[1])
	settle(t, s, w, d, s.Open(w))
	presses(t, s, w, d, keys.Down)
	rest := presses(t, s, w, d, keys.Restore)
	do, ok := rest[0].(Do)
	if !ok || do.Class != Effects || strings.Join(do.Command, " ") != "cronring undo 28" || do.Detail[0] != "+1 -1 lines. What it says now is kept as a revision." {
		t.Errorf("restore: got %+v", rest)
	}
}

func TestFilesDeleteAsksForCountAndUndoes(t *testing.T) {
	w := newWorld(t)
	about := Subject{Jobs: []job.ID{"etl-orders", "certbot-renew"}, Marked: true}
	do := remove(w, about)
	if do.Class != Removes || do.Count != 2 || do.Question != "Delete 2 entries from 2 files?" || do.Detail[0] != "- /etc/cron.d/etl:14  */5 * * * *  /opt/etl/run orders --since auto" {
		t.Errorf("got %+v", do)
	}
	if do := remove(w, Subject{Jobs: []job.ID{"pg-backup"}}); do.Class != Protected || do.Name != "pg-backup" {
		t.Errorf("of a protected job: got %+v", do)
	}
}

func TestLineChangesComeFromOneTextToAnother(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"a\nb\nc\n", "a\nb\nc\n", ""},
		{"a\nb\nc\n", "a\nx\nc\n", " a|-b|+x| c"},
		{"", "a\n", "+a"},
		{"a\n", "", "-a"},
		{"a\nb\nc\nd\n", "b\nc\ne\nd\n", "-a| b| c|+e| d"},
	} {
		var got []string
		for _, c := range lineChanges(tc.from, tc.to) {
			got = append(got, string(c.sign)+c.line)
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%q to %q: got %q, want %q", tc.from, tc.to, strings.Join(got, "|"), tc.want)
		}
	}
}

func TestFilesDeleteTakesEntriesOutOfTheirFile(t *testing.T) {
	d := filesDaemon()
	var got []api.TableRequest
	d.install = func(r api.TableRequest) (api.Installed, error) {
		got = append(got, r)
		return api.Installed{File: r.File, Before: 41}, nil
	}
	nightly := job.Job{ID: "nightly", Table: "/etc/cron.d/etl", Line: 7, Command: "/opt/etl/run nightly"}
	d.list = func(api.Query) ([]job.Status, error) { return []job.Status{{Job: nightly}}, nil }
	remove := remove(newWorld(t), Subject{Jobs: []job.ID{"nightly"}})
	if _, err := remove.Call(t.Context(), d); err != nil || strings.Join(remove.Undo.Command, " ") != "cronring undo 41" {
		t.Errorf("delete: %v, undo %v", err, remove.Undo.Command)
	}
	want := strings.Replace(etlText, "#@ name=nightly overlap=skip\n0,30 2 * * * etl /opt/etl/run nightly\n", "", 1)
	if len(got) != 1 || string(got[0].Text) != want || got[0].Base != "sum 1" {
		t.Errorf("delete: got %+v, want %q", got, want)
	}
	nightly.Line = 8
	if _, err := remove.Call(t.Context(), d); api.KindOf(err) != api.Conflict || len(got) != 1 {
		t.Errorf("of a line that moved: got %v, want a conflict", err)
	}
}
