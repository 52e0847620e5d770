package spool

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/filetest"
)

func day(t *testing.T, text string) timetable.Day {
	t.Helper()
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return timetable.DayOf(date, time.UTC)
}

func TestStampsAreAnacrons(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "anacron")
	if got := ReadStamps(dir); len(got) != 0 {
		t.Errorf("stamps %v of a directory that is not there", got)
	}
	for _, test := range []struct{ id, day, text string }{
		{"cron.daily", "2026-11-20", "20261120\n"},
		{"cron.daily", "2026-11-21", "20261121\n"},
		{"örtlich", "1999-12-31", "19991231\n"},
	} {
		if err := WriteStamp(dir, test.id, day(t, test.day)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, test.id))
		if err != nil || string(text) != test.text {
			t.Errorf("stamp %s: %q, %v; want %q", test.id, text, err, test.text)
		}
		if mode := stat(t, filepath.Join(dir, test.id)).Mode & 0o7777; mode != 0o600 {
			t.Errorf("stamp %s: mode %04o, want 0600", test.id, mode)
		}
	}
	for name, text := range map[string]string{
		"longer": "20260102 and more\n", "bare": "20260103", "short": "2026010", "empty": "", "word": "yesterday", "month": "20261302\n", ".hidden": "20260101\n",
	} {
		filetest.Write(t, filepath.Join(dir, name), text, 0o600)
	}
	want := map[string]timetable.Day{
		"cron.daily": day(t, "2026-11-21"), "örtlich": day(t, "1999-12-31"), "longer": day(t, "2026-01-02"), "bare": day(t, "2026-01-03"),
	}
	if got := ReadStamps(dir); !maps.Equal(got, want) {
		t.Errorf("stamps %v\nwant %v", got, want)
	}
	if err := WriteStamp(dir, "longer", day(t, "2026-01-04")); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "longer")); string(text) != "20260104\n" {
		t.Errorf("a longer stamp became %q", text)
	}
}

// A user who can create files in the directory must not be able to redirect or block root's
// writes.
func TestStampsFollowNothingPlanted(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(victim, []byte("20200101\nprecious\n"), 0o600))
	must(os.Symlink(victim, filepath.Join(dir, "link")))
	must(os.Link(victim, filepath.Join(dir, "hard")))
	must(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	must(os.Symlink(filepath.Join(dir, "made"), filepath.Join(dir, "dangling")))
	if got := ReadStamps(dir); len(got) != 0 {
		t.Errorf("stamps %v were read from what was planted", got)
	}
	for _, id := range []string{"link", "hard", "pipe", "dir", "dangling", "../victim", "a/b", "", ".", "..", ".x", "a\x00b", "a b", strings.Repeat("x", 256)} {
		if err := WriteStamp(dir, id, 1); err == nil {
			t.Errorf("a stamp was written to %q", id)
		}
		if l, err := LockStamp(dir, id); err == nil {
			l.Close()
			t.Errorf("%q was locked", id)
		}
	}
	if text, _ := os.ReadFile(victim); string(text) != "20200101\nprecious\n" {
		t.Errorf("the victim says %q", text)
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
		t.Error("a file was made through a link")
	}
}

func TestStampLockKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	l, err := LockStamp(dir, "cron.daily")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := ReadStamps(dir)["cron.daily"]; ok {
		t.Error("a new stamp says something")
	}
	if _, err := LockStamp(dir, "cron.daily"); !errors.Is(err, ErrStampLocked) {
		t.Errorf("the second lock: %v, want %v", err, ErrStampLocked)
	}
	if got := anacronLocks(t, dir); got != "locked" {
		t.Errorf("a process that locks as anacron does finds it %s", got)
	}
	ReadStamps(dir) // closes the same file, which would end a lock of the process
	if got := anacronLocks(t, dir); got != "locked" {
		t.Errorf("after the stamps were read it is %s", got)
	}
	if err := l.Write(day(t, "2026-11-20")); err != nil {
		t.Fatal(err)
	}
	if got, ok := ReadStamps(dir)["cron.daily"]; !ok || got != day(t, "2026-11-20") {
		t.Errorf("the stamp says %v, %t", got, ok)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := anacronLocks(t, dir); got != "free" {
		t.Errorf("after the lock was given back it is %s", got)
	}
}

// anacronLocks takes anacron's kind of lock, that of a whole process, in
// another process: this test, run again.
func anacronLocks(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStampLockHelper$")
	cmd.Env = append(os.Environ(), "CRONRING_STAMP="+filepath.Join(dir, "cron.daily"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the helper: %v", err)
	}
	word, _, _ := strings.Cut(string(out), "\n")
	return word
}

// TestStampLockHelper is not a test: it is the other process.
func TestStampLockHelper(t *testing.T) {
	path := os.Getenv("CRONRING_STAMP")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	switch {
	case err == nil:
		fmt.Println("free")
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		fmt.Println("locked")
	default:
		fmt.Println(err)
	}
}
