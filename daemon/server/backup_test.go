package server

import (
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/store/database"
)

func TestFailedBackupNamesItsFile(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.Broken = syscall.ENOSPC
	_, err := w.client().DB(t.Context(), api.DBBackup)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.What != "cannot back the history up to /state/backup/copy" || e.Why != "the disk or a quota is full" || !strings.HasSuffix(e.Fix, " /state") {
		t.Errorf("got %+v, want that the disk of /state is full", err)
	}
}

func TestBackupIsWrittenIfAnOldOneStays(t *testing.T) {
	w := newWorld(t, etlCrontab)
	w.Broken = &database.OldBackupError{Err: &fs.PathError{Op: "remove", Path: "/state/backup/old", Err: syscall.EPERM}}
	_, err := w.client().DB(t.Context(), api.DBBackup)
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.What != "the backup /state/backup/copy is written, but an old one cannot be removed" || !strings.HasPrefix(e.Why, "remove /state/backup/old: ") || e.Fix != "find out why, and remove it: ls -l /state/backup" {
		t.Errorf("got %+v, want that the backup is written and /state/backup/old cannot be removed", err)
	}
	if got := w.Audited(); len(got) != 1 {
		t.Errorf("got the actions %+v, want the backup", got)
	}
}

func TestLockedHistoryIsNamedByBackup(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const lock = "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE"
	first, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := first.ExecContext(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, etlCrontab)
	_, w.Broken = db.ExecContext(t.Context(), lock)
	_, err = w.client().DB(t.Context(), api.DBBackup)
	if e, ok := errors.AsType[*api.Error](err); !ok || !strings.HasSuffix(e.Fix, ": fuser -v /state/cronring.db") {
		t.Errorf("got %+v, want the advice fuser -v /state/cronring.db", err)
	}
}
