package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/store/database"
)

func TestBackupIsAWholeHistory(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	path, size, err := s.Backup(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of %d bytes with mode 0600", info, err, size)
	}
	if _, _, err := s.Backup(t.Context(), now); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second backup of the same millisecond: got %v, want %v", err, os.ErrExist)
	}
	if _, _, err := s.Backup(t.Context(), now.Add(time.Millisecond)); err != nil {
		t.Errorf("a backup a millisecond later: %v", err)
	}
	restored := t.TempDir()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(restored, fileName), string(text), 0o600)
	again, err := Open(t.Context(), restored)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Notice != "" {
		t.Errorf("the backup was found damaged: %s", again.Notice)
	}
	if problems, err := again.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("check of the backup: got %q, %v, want none", problems, err)
	}
}

func TestBackupKeepsFive(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for i := range 5 + 2 {
		if _, _, err := s.Backup(t.Context(), now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "backup", "*"))
	if err != nil || len(all) != 5 {
		t.Fatalf("got %q, %v, want 5 backups", all, err)
	}
	if got := filepath.Base(all[0]); got != "cronring-20261120T020002.000Z.db" {
		t.Errorf("the oldest that is left: got %s, want that of the third second", got)
	}
}

func TestFailedBackupReturnsItsPath(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	filetest.Write(t, filepath.Join(dir, "backup"), "in the place of the directory", 0o600)
	path, _, err := s.Backup(t.Context(), time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC))
	if want := filepath.Join(dir, "backup", "cronring-20261120T020000.000Z.db"); err == nil || path != want {
		t.Errorf("got the path %q and %v, want %q and an error", path, err, want)
	}
}

func TestBackupIsWrittenIfAnOldOneStays(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 5 { // directories with a file cannot be removed like a file
		filetest.Write(t, filepath.Join(dir, "backup", fmt.Sprintf("cronring-2025%d.db", i), "file"), "", 0o600)
	}
	path, size, err := s.Backup(t.Context(), time.Now())
	if _, ok := errors.AsType[*database.OldBackupError](err); !ok {
		t.Errorf("got %v, want an OldBackupError", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != size {
		t.Errorf("got %v, %v, want a file of %d bytes", info, err, size)
	}
}

func TestSizesCountRows(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	z, err := s.Sizes(t.Context())
	if err != nil || z.Bytes == 0 || len(z.Rows) != 11 || z.Rows["run"] != 0 {
		t.Errorf("got %+v, %v, want the sizes of a new history", z, err)
	}
}
