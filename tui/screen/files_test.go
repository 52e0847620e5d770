package screen

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

func openFiles(t *testing.T, w *World, d Daemon) *Files {
	t.Helper()
	f := NewFiles()
	settle(t, f, w, d, f.Open(w))
	return f
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
		t.Errorf("filtered by post: got %d files, want the crontab of postgres", f.tables.Len())
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
