package files

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func openFiles(t *testing.T, w *screen.World, d screen.Daemon) *Files {
	t.Helper()
	f := New()
	screentest.Settle(t, f, w, d, f.Open(w))
	return f
}

func TestFilesScreens(t *testing.T) {
	screentest.CheckLayouts(t, "files", func(v canvas.View, w *screen.World) {
		f := openFiles(t, w, screentest.FilesDaemon())
		screentest.Act(t, f, w, screentest.FilesDaemon(), keys.Down)
		screentest.Draw(f, v, w)
	})
	screentest.Check(t, "files-refused", func(v canvas.View, w *screen.World) {
		f := openFiles(t, w, screentest.FilesDaemon())
		screentest.Act(t, f, w, screentest.FilesDaemon(), keys.Down, keys.Down, keys.Down)
		screentest.Draw(f, v, w)
	})
	screentest.Check(t, "files-empty", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		d.OnCrontabFiles = func() ([]api.CrontabFile, error) { return nil, nil }
		screentest.Draw(openFiles(t, w, d), v, w)
	})
	screentest.Check(t, "files-trouble", func(v canvas.View, w *screen.World) {
		screentest.Draw(openFiles(t, w, screentest.NoServer(fs.ErrPermission)), v, w)
	})
	screentest.Check(t, "files-hostile", func(v canvas.View, w *screen.World) {
		d := screentest.FilesDaemon()
		d.OnCrontabFiles = func() ([]api.CrontabFile, error) {
			return []api.CrontabFile{{File: "/etc/cron.d/\u202etl\x1b[2J" + strings.Repeat("x", 90), Owner: "\x1b]0;x\x07", Refused: strings.Repeat("why ", 80)}}, nil
		}
		screentest.Draw(openFiles(t, w, d), v, w)
	})
	screentest.CheckLayouts(t, "files-versions", func(v canvas.View, w *screen.World) {
		s := newVersions(screentest.SomeCrontabs()[1])
		screentest.Settle(t, s, w, screentest.FilesDaemon(), s.Open(w))
		screentest.Act(t, s, w, screentest.FilesDaemon(), keys.Down)
		screentest.Draw(s, v, w)
	})
}

func TestFilesFilterNarrows(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	f := openFiles(t, w, d)
	screentest.Act(t, f, w, d, keys.Filter)
	for _, letter := range "post" {
		effects, ok := f.Type(w, screen.Key{Name: string(letter), Text: string(letter)})
		if !ok {
			t.Fatalf("%q means nothing to the filter", letter)
		}
		screentest.Settle(t, f, w, d, effects)
	}
	if f.crontabs.Len() != 1 || f.Current().User != "postgres" || f.peeked != f.Current().File {
		t.Errorf("filtered by post: got %d files, want the crontab of postgres", f.crontabs.Len())
	}
	f.Type(w, screen.Key{Name: "enter"})
	if _, ok := f.Act(w, keys.Back); !ok || f.crontabs.Len() != len(screentest.SomeCrontabs()) {
		t.Errorf("esc leaves %d files, want all", f.crontabs.Len())
	}
	if _, ok := f.Act(w, keys.Back); ok {
		t.Error("a second esc is not left to the shell")
	}
}

func TestFilesOpenEditAndRestore(t *testing.T) {
	w, d := screentest.NewWorld(t), screentest.FilesDaemon()
	f := openFiles(t, w, d)
	screentest.Act(t, f, w, d, keys.Down)
	for action, want := range map[keys.Action]func(e screen.Effect) bool{
		keys.Open:      func(e screen.Effect) bool { s, ok := e.(screen.Show); return ok && s.Action == keys.Edit },
		keys.Revisions: func(e screen.Effect) bool { g, ok := e.(screen.Goto); _, is := g.Screen.(*Versions); return ok && is },
		keys.External: func(e screen.Effect) bool {
			x, ok := e.(screen.Execute)
			return ok && strings.Join(x.Program().Args[1:], " ") == "edit --socket /run/cronring/cronring.sock -- /etc/cron.d/etl"
		},
	} {
		if rest := screentest.Act(t, f, w, d, action); len(rest) != 1 || !want(rest[0]) {
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
	s := newVersions(screentest.SomeCrontabs()[1])
	screentest.Settle(t, s, w, d, s.Open(w))
	screentest.Act(t, s, w, d, keys.Down)
	rest := screentest.Act(t, s, w, d, keys.Restore)
	do, ok := rest[0].(screen.Do)
	if !ok || do.Class != screen.Effects || strings.Join(do.Command, " ") != "cronring undo 28" || do.Detail[0] != "+1 -1 lines. The current version is kept as a revision." {
		t.Errorf("restore: got %+v", rest)
	}
}

func TestFilesDeleteAsksForCountAndUndoes(t *testing.T) {
	w := screentest.NewWorld(t)
	about := screen.Subject{Jobs: []job.ID{"etl-orders", "certbot-renew"}, Marked: true}
	do := change.Remove(w, about)
	if do.Class != screen.Removes || do.Count != 2 || do.Question != "Delete 2 entries from 2 files?" || do.Detail[0] != "- /etc/cron.d/etl:14  */5 * * * *  /opt/etl/run orders --since auto" {
		t.Errorf("got %+v", do)
	}
	if do := change.Remove(w, screen.Subject{Jobs: []job.ID{"pg-backup"}}); do.Class != screen.Protected || do.Name != "pg-backup" {
		t.Errorf("of a protected job: got %+v", do)
	}
}
