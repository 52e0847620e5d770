package server

import (
	"errors"
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
	if !ok || e.What != "cannot back the history up to /state/backup/copy" || e.Why != "the disk or a quota is full" || !strings.HasSuffix(e.Fix, " /state/backup") {
		t.Errorf("got %+v, want that the disk of /state/backup is full", err)
	}
}
