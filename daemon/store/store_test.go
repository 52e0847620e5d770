package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "var", "state")
	s := open(t, dir)
	commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
	for name, want := range map[string]os.FileMode{
		"": 0o700, fileName: 0o600, fileName + "-wal": 0o600, fileName + "-shm": 0o600, "lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q = %o, want %o", name, got, want)
		}
	}
}

func TestOpenTwiceNamesTheOther(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(t.Context(), dir)
	var locked *database.LockedError
	if !errors.As(err, &locked) || locked.Holder == nil || locked.Holder.PID != os.Getpid() || locked.Dir != dir {
		t.Fatalf("second Open: %v, want a LockedError of %s with pid %d", err, dir, os.Getpid())
	}
	if !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%q does not name the process", err)
	}
	reopen(t, s, dir)
}

func TestOpenDamagedFileSetsItAside(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"garbage": func(t *testing.T, path string) {
			filetest.Write(t, path, strings.Repeat("this is no database. ", 1000), 0o600)
		},
		"truncated": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()/2/4096*4096)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"overwritten inside": func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range text[4096 : 16*4096] {
				text[4096+i] ^= 0x5a
			}
			filetest.Write(t, path, string(text), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			fill(t, s, 10, 2000)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, fileName))

			s = open(t, dir)
			aside, err := filepath.Glob(filepath.Join(dir, fileName+".damaged-*"))
			if err != nil || len(aside) != 1 || !strings.Contains(s.Notice, aside[0]) {
				t.Errorf("set aside as %q (%v), notice %q", aside, err, s.Notice)
			}
			commit(t, s, Batch{Records: []job.Record{decided(1, "a", noon)}})
			if r := restore(t, s); len(r.Marks) != 1 || r.NextRun != 2 {
				t.Errorf("new history: %d marks, next run %d; want 1 and 2", len(r.Marks), r.NextRun)
			}
			s = reopen(t, s, dir)
			if s.Notice != "" {
				t.Errorf("notice of a sound database: %s", s.Notice)
			}
		})
	}
}

// schemaVersion is that of a database of today.
func schemaVersion(t *testing.T) int {
	t.Helper()
	steps, err := filepath.Glob("database/schema/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	return len(steps)
}

func TestOpenNewerDatabaseRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Write(t.Context(), func(w *database.Writer) error { return w.Script(t.Context(), "PRAGMA user_version = 99") }); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for range 2 { // the first refusal must not keep the lock
		_, err := Open(t.Context(), dir)
		var newer *database.NewerError
		if !errors.As(err, &newer) || newer.Schema != 99 || newer.Known != schemaVersion(t) {
			t.Fatalf("Open: %v, want a NewerError of schema 99", err)
		}
	}
	if database.IsDamaged(&database.NewerError{}) {
		t.Error("a newer database counts as damaged")
	}
}

// Whoever went back to an older version reads the error, and then the page, and
// does what both say.
func TestNewerDatabaseMovedAwayAndBack(t *testing.T) {
	dir, aside := t.TempDir(), t.TempDir()
	s := open(t, dir)
	if err := s.Commit(t.Context(), Batch{At: noon, Records: []job.Record{{At: noon, Kind: job.Loaded, Detail: "of the newer one"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(w *database.Writer) error { return w.Script(t.Context(), "PRAGMA user_version = 99") }); err != nil {
		t.Fatal(err)
	}
	copyTo := filepath.Join(t.TempDir(), "unclean") // as it is while the daemon runs, or after it was killed
	if err := os.CopyFS(copyTo, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	dir = copyTo
	path := filepath.Join(dir, fileName)
	move := func(from, to string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(from, fileName+"*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("files of the database in %s: %v, %v", from, files, err)
		}
		for _, file := range files {
			if err := os.Rename(file, filepath.Join(to, filepath.Base(file))); err != nil {
				t.Fatal(err)
			}
		}
	}

	_, err := Open(t.Context(), dir)
	for _, want := range []string{path + " was written by a newer cronring", "move the file and " + path + "-wal away", "cronringd(8), PACKAGES"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: got %v, want %q in it", err, want)
		}
	}
	page, err := os.ReadFile("../../man/cronringd.8")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n.Sh PACKAGES\n")
	section, _, _ = strings.Cut(section, "\n.Sh ")
	section = strings.ReplaceAll(section, "\n", " ")
	for _, want := range []string{"written by a newer cronring", "mv /var/lib/cronring/" + fileName + "* ", "a paused job runs again"} {
		if !strings.Contains(section, want) {
			t.Errorf("PACKAGES of cronringd(8) does not say %q", want)
		}
	}

	details := func() (all string) {
		t.Helper()
		s, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		records, err := s.Records(t.Context(), time.Time{}, noon.AddDate(1, 0, 0), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			all += r.Detail.Words()
		}
		return all
	}
	move(dir, aside)
	if got := details(); got != "" {
		t.Errorf("the new history has %q, want nothing", got)
	}
	move(dir, t.TempDir())
	move(aside, dir)
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "newer cronring") {
		t.Errorf("put back: got %v, want it refused by this version still", err)
	}
	w, err := sql.Open("sqlite", path) // to be read by a version that knows it
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Exec(fmt.Sprintf("PRAGMA user_version = %d", schemaVersion(t)))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if got := details(); got != "of the newer one" {
		t.Errorf("put back, and opened by a version that knows it: got %q", got)
	}
}

func TestCommitAfterEndOfContextWritesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, Batch{At: noon, Records: []job.Record{decided(1, "a", noon)}}); err == nil {
		t.Error("Commit succeeded")
	}
	if r := restore(t, s); len(r.Marks)+len(r.Live) != 0 {
		t.Errorf("restored %+v, want nothing", r)
	}
}
