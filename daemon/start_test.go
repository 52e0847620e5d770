package daemon

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/barred"
	"github.com/cronring/cronring/daemon/clock"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/runlog"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/store/revision"
)

func TestBarsAreSaidOncePerChange(t *testing.T) {
	root := t.TempDir()
	passwd := "root:x:0:0::/root:/bin/sh\nold:x:1002:1002::/home/old:/bin/sh\n"
	filetest.Write(t, filepath.Join(root, "etc/passwd"), passwd, 0o644)
	filetest.Write(t, filepath.Join(root, "etc/group"), "root:x:0:\n", 0o644)
	filetest.Write(t, filepath.Join(root, "etc/shadow"), "old:*:19000:0:99999:7::19001:\n", 0o600)
	file, _ := crontab.Parse("x", "* * * * * later true\n* * * * * old true\n", crontab.Config{Format: crontab.System})
	c, err := clock.Open()
	if err != nil {
		t.Fatal(err)
	}
	sink := &cronSink{}
	d := &shared{clock: c, config: &configuration{}, logWriter: runlog.New(sink, false), crontabs: &crontabs{barredUsers: barred.Users{Accounts: account.New(account.Options{Root: root})}}}
	find := func(want ...string) {
		t.Helper()
		d.findBarredUsers(t.Context(), []*crontab.File{file})
		d.logWriter.WriteAll()
		got := sink.lines
		sink.lines = nil
		if !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
	}
	find("(later) ERROR (getpwnam() failed - user unknown)", "(old) ERROR (account expired on 2022-01-09)")
	find()
	filetest.Write(t, filepath.Join(root, "etc/passwd"), passwd+"later:x:1003:1003::/:/bin/sh\n", 0o644)
	find()
	filetest.Write(t, filepath.Join(root, "etc/passwd"), passwd, 0o644)
	find("(later) ERROR (getpwnam() failed - user unknown)")
}

func TestHostKeepsVersionsOfCrontabsThatItFinds(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.write("etc/cron.d/first", "0 0 1 1 * root true\n")
	h.start()
	h.write("etc/cron.d/first", "0 0 2 2 * root true\n")
	h.reload()
	h.stop()
	s, err := store.Open(t.Context(), h.path("var/lib/cronring"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, err := s.Revisions(t.Context(), revision.Filter{File: h.path("etc/cron.d/first")})
	if err != nil || len(found) != 2 {
		t.Errorf("kept %d versions (%v), want the one of the start and the one after", len(found), err)
	}
}
