package database

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cronring/cronring/daemon/filetest"
)

// Errors of SQLite are explained in other words than its own.
func TestExplain(t *testing.T) {
	const locked = "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE"
	fails := func(dir, prepare, statement string) error {
		db, err := sql.Open("sqlite", filepath.Join(dir, fileName))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(prepare); err != nil {
			return err
		}
		_, err = db.Exec(statement)
		return err
	}
	damaged, busy := t.TempDir(), t.TempDir()
	filetest.Write(t, filepath.Join(damaged, fileName), strings.Repeat("damage", 100), 0o600)
	if err := fails(busy, "", locked); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		err      error
		why, fix string
	}{
		{fails(t.TempDir(), "PRAGMA max_page_count = 1", "CREATE TABLE a (b)"), "the disk or a quota is full", "make room on the disk of /d"},
		{unix.ENOSPC, "the disk or a quota is full", "make room on the disk of /d"},
		{fails(t.TempDir(), "PRAGMA query_only = 1", "CREATE TABLE a (b)"), "the disk is read-only", "check the disk, and make it writable again: findmnt -T /d"},
		{fails(damaged, "", "CREATE TABLE a (b)"), "the history is damaged", "restart cronringd: it keeps the damaged file under another name, and begins a new history"},
		{fails(busy, "", locked), "another program has locked the history", "end the program other than cronringd that uses it: fuser -v /d/cronring.db"},
		{lockedByQuery(t), "another query of the daemon has locked the history", "try again"},
		{sqliteError(sqlite3.SQLITE_PROTOCOL), "another program has locked the history", "end the program other than cronringd that uses it: fuser -v /d/cronring.db"},
		{sqliteError(sqlite3.SQLITE_NOMEM), "the daemon has no memory left", "check the memory of the host, and the limit of the service: systemctl show -p MemoryMax cronring"},
		{fails("/nonexistent", "", "CREATE TABLE a (b)"), "its file cannot be opened", "check the owner and the modes of /d, and the limit of open files"},
		{errors.New("other"), "commit: other", ""},
	} {
		if why, fix := Explain(fmt.Errorf("commit: %w", tc.err), "/d"); why != tc.why || fix != tc.fix {
			t.Errorf("%v: got %q, fix %q, want %q, fix %q", tc.err, why, fix, tc.why, tc.fix)
		}
	}
}

// lockedByQuery removes a table that a query of the same connection is reading.
func lockedByQuery(t *testing.T) error {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "CREATE TABLE a (b); INSERT INTO a VALUES (1), (2)"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.QueryContext(t.Context(), "SELECT b FROM a")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	_, err = c.ExecContext(t.Context(), "DROP TABLE a")
	return err
}

// sqliteError returns an error of SQLite that a test cannot provoke.
func sqliteError(code int) error {
	err := &sqlite.Error{}
	field := reflect.ValueOf(err).Elem().FieldByName("code")
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().SetInt(int64(code))
	return err
}
