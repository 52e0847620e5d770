package daemon

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first start of a new version can take a minute to upgrade a long history. The
// log and the service manager learn of it before.
func TestUpgradeOfTheHistoryIsAnnounced(t *testing.T) {
	h := newTestHost(t)
	manager := h.withManager()
	files, err := filepath.Glob("store/database/schema/*.sql")
	if err != nil || len(files) < 11 {
		t.Fatal(files, err)
	}
	dir := h.path("var/lib/cronring")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "cronring.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var text strings.Builder
	for _, file := range files[:10] { // version 0.7
		step, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(step)
	}
	if _, err := db.Exec(text.String() + "PRAGMA user_version = 10"); err != nil {
		t.Fatal(err)
	}
	h.start()
	if said := manager.hears("STATUS="); !strings.Contains(said, "upgrading the history\nEXTEND_TIMEOUT_USEC=") {
		t.Errorf("the service manager heard %q first, want that it must wait", said)
	}
	h.stop()
	h.start()
	for _, said := range []string{"upgrading the history", "the history is upgraded"} {
		if n := h.count(said); n != 1 {
			t.Errorf("the log has %q %d times, want once", said, n)
		}
	}
}
