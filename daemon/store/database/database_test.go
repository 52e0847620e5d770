package database

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
)

func open(t *testing.T, dir string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dir, func(context.Context, *Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// fill writes 5,000 jobs.
func fill(t *testing.T, db *DB) {
	t.Helper()
	err := db.Write(t.Context(), func(w *Writer) error {
		return w.Script(t.Context(), `INSERT INTO job (id) WITH RECURSIVE n (i) AS (SELECT (SELECT count(*) FROM job) + 1 UNION ALL
			SELECT i + 1 FROM n WHERE i % 5000 > 0) SELECT 'a job with a long name, number ' || i FROM n`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckOutOfTimeIsNoDamage(t *testing.T) {
	db := open(t, t.TempDir())
	fill(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := db.write.check(ctx); err != nil {
		t.Errorf("check without time: %v", err)
	}
	fill(t, db)
}

func TestOpenWaitsForTheLastChildOfADeadDaemon(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteAt(fmt.Appendf(nil, "%-20d\n", 1<<29), 0); err != nil { // no process can have this number
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { lock.Close() })
	open(t, dir)
}

// A daemon that is killed soon after its first start leaves the schema in the write-ahead log.
func TestNewDatabaseIsNotOutdated(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if _, outdated := Outdated(dir); outdated {
		t.Error("the schema of a database that was just created is said to be outdated")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, func(context.Context, *Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	path, _, err := s.Backup(t.Context(), time.Now())
	s.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 3*4096 + 8; i < len(text)-4096; i += 512 {
		text[i] ^= 0xff
	}
	filetest.Write(t, path, string(text), 0o600)
	read, err := openReaders(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := &DB{path: path, read: read}
	defer read.Close()
	if problems, err := damaged.Check(t.Context()); err == nil && len(problems) == 0 {
		t.Error("a damaged file was found sound")
	}
}

// An administrator moves the file of a running daemon away, and puts another one in its place. What
// is written now would be lost at the next start, so nothing is written until the file is back.
func TestReplacedFileTakesNothing(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	path, away := filepath.Join(dir, fileName), filepath.Join(dir, "away")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(state string) {
		t.Helper()
		err := db.WriteUrgent(t.Context(), func(*Writer) error { return nil })
		if why, fix := Explain(err, dir); !strings.Contains(why, "removed, or replaced") || !strings.Contains(fix, path) {
			t.Errorf("a write to a file that is %s: %v, explained as %q, fix %q", state, err, why, fix)
		}
		if err := db.WriteUnsynced(t.Context(), func(*Writer) error { return nil }); err == nil {
			t.Errorf("an unsynced write to a file that is %s succeeds", state)
		}
	}
	move(path, away)
	refused("moved")
	filetest.Write(t, path, "", 0o600)
	refused("replaced")
	move(away, path)
	fill(t, db)
}

// The loop waits for the running transaction alone, however many writers wait.
func TestUrgentWriteIsNext(t *testing.T) {
	db := open(t, t.TempDir())
	var wg sync.WaitGroup
	var order []string // appended to in transactions
	write := func(name string, write func(context.Context, func(*Writer) error) error, during func()) {
		wg.Go(func() {
			err := write(t.Context(), func(*Writer) error {
				order = append(order, name)
				during()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	write("running", db.Write, func() {
		for range 10 {
			write("waiting", db.Write, func() {})
			write("waiting", db.WriteUnsynced, func() {})
		}
		write("urgent", db.WriteUrgent, func() {})
		for db.mu.TryRLock() { // until the urgent one waits
			db.mu.RUnlock()
			runtime.Gosched()
		}
	})
	wg.Wait()
	if len(order) != 22 || order[1] != "urgent" {
		t.Errorf("the order is %q, want the urgent one second", order)
	}
}
