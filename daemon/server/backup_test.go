package server

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
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
