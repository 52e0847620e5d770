package cronview

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/cronlog"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/server/simulated"
	"github.com/cronring/cronring/daemon/spool"
)

// A user's own crontab is read with crontab(1) once after each change of the spool.
func TestOwnCrontabIsReadAfterChangesOfTheSpool(t *testing.T) {
	root := t.TempDir()
	places := spool.Host{Family: crontab.Debian}.Paths(root)
	filetest.Write(t, filepath.Join(root, "bin/crontab"), fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%[1]s/calls\ncat %[1]s/text 2>/dev/null || { echo no crontab for ann >&2; exit 1; }\n", root), 0o755)
	t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
	u := &userCrontabs{paths: places, self: "ann"}
	check := func(when, text string, changed, missing bool) {
		t.Helper()
		got, is, err := u.ownCrontab(t.Context())
		if got != text || is != changed || errors.Is(err, fs.ErrNotExist) != missing {
			t.Errorf("%s: got %q, changed %v, error %v", when, got, is, err)
		}
	}
	check("without a spool", "", false, true)
	if err := os.MkdirAll(places.Users, 0o755); err != nil {
		t.Fatal(err)
	}
	change := func(to string, at int64) {
		filetest.Write(t, filepath.Join(root, "text"), to, 0o644)
		if err := os.Chtimes(places.Users, time.Time{}, time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	check("without a crontab", "", false, true)
	change("@daily a\n", 100)
	check("after an installation", "@daily a\n", true, false)
	check("without a change", "@daily a\n", false, false)
	change("@daily a\n", 200)
	check("after another user's installation", "@daily a\n", false, false)
	if calls, _ := os.ReadFile(filepath.Join(root, "calls")); string(calls) != "-l\n-l\n-l\n" {
		t.Errorf("got the calls %q, want three", calls)
	}
	if _, err := u.ReadCrontab(account.Account{Name: "bob"}); err == nil {
		t.Error("the crontab of another user was read")
	}
}

// Of two jobs with the same command and user, cron started the one that was due.
func TestLoggedStartsBelongToTheJobThatWasDue(t *testing.T) {
	w := simulated.New("2026-11-20T00:00:00Z")
	w.Load("#@ name=early\n0 1 * * * root true\n#@ name=late\n0 2 * * * root true\n")
	m := newMatches()
	m.index(w.View())
	for _, c := range []struct{ at, user, command, want string }{
		{"2026-11-20T01:00:01Z", "root", "true", "early"},
		{"2026-11-20T02:00:30Z", "root", "true", "late"},
		{"2026-11-20T01:59:59.5Z", "root", "true", "late"},
		{"2026-11-20T02:00:01Z", "ann", "true", ""},
		{"2026-11-20T02:00:01Z", "root", "false", ""},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range m.facts([]cronlog.Start{{At: at, User: c.user, Command: c.command}}) {
			got = string(f.Job)
		}
		if got != c.want {
			t.Errorf("%s (%s) CMD (%s): got the job %q, want %q", c.at, c.user, c.command, got, c.want)
		}
	}
}

// A job that starts each minute keeps only its newest starts.
func TestLoggedStartsAreBounded(t *testing.T) {
	w := simulated.New("2026-11-20T00:00:00Z")
	w.Load("#@ name=tick\n* * * * * root true\n")
	m := newMatches()
	m.index(w.View())
	var starts []cronlog.Start
	for i := range 3 * mostOfJob {
		starts = append(starts, cronlog.Start{At: w.Now().Add(time.Duration(i) * time.Minute), User: "root", Command: "true"})
	}
	facts := m.facts(starts)
	if newest := facts[len(facts)-1]; len(facts) != 2*mostOfJob || !newest.At.Equal(starts[len(starts)-1].At) || newest.Run.ID != mostOfJob {
		t.Errorf("got %d records, the newest %+v", len(facts), newest)
	}
}
