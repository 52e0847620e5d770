package state

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// noon is the instant around which tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// history is the Values in a database of a test.
type history struct {
	*Values
	db *database.DB
}

func open(t testing.TB, dir string) history {
	t.Helper()
	db, err := database.Open(t.Context(), dir, func(context.Context, *database.Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return history{New(db), db}
}

// reopen is a restart of the daemon.
func reopen(t testing.TB, s history, dir string) history {
	t.Helper()
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func TestStateComesBackToItsJobAndAccountAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	set := func(id job.ID, user, key string, value []byte, at time.Time) {
		t.Helper()
		if err := s.SetState(t.Context(), id, user, key, value, at); err != nil {
			t.Fatal(err)
		}
	}
	set("a", "ann", "cursor", []byte("old"), noon)
	set("a", "ann", "cursor", []byte("x\x00\xff"), noon.Add(1))
	set("a", "ann", "Empty_.-1", nil, noon.Add(2))
	set("a", "bob", "cursor", []byte("bob's"), noon)
	set("b", "ann", "cursor", []byte("b's"), noon)
	s = reopen(t, s, dir)
	for _, c := range []struct {
		id              job.ID
		user, key, want string
		ok              bool
	}{
		{"a", "ann", "cursor", "x\x00\xff", true}, {"a", "ann", "Empty_.-1", "", true}, {"a", "bob", "cursor", "bob's", true},
		{"b", "ann", "cursor", "b's", true}, {"b", "bob", "cursor", "", false}, {"x", "ann", "cursor", "", false}, {"a", "ann", "x", "", false},
	} {
		got, ok, err := s.State(t.Context(), c.id, c.user, c.key)
		if err != nil || ok != c.ok || string(got) != c.want {
			t.Errorf("%s of %s, %s: %q, %t, %v; want %q, %t", c.id, c.user, c.key, got, ok, err, c.want, c.ok)
		}
	}
	all, err := s.States(t.Context(), "a", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if want := []Entry{{"Empty_.-1", 0, noon.Add(2)}, {"cursor", 3, noon.Add(1)}}; !slices.Equal(all, want) {
		t.Errorf("keys: %v, want %v", all, want)
	}
	for _, want := range []bool{true, false} {
		if ok, err := s.DeleteState(t.Context(), "a", "ann", "cursor"); ok != want || err != nil {
			t.Errorf("deleted: %t, %v; want %t", ok, err, want)
		}
	}
	if got, ok, _ := s.State(t.Context(), "a", "bob", "cursor"); !ok || string(got) != "bob's" {
		t.Errorf("ann deleted bob's: %q, %t", got, ok)
	}
}

func TestStateIsBounded(t *testing.T) {
	s := open(t, t.TempDir())
	refused := func(what string, err error, words string) {
		t.Helper()
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), words) {
			t.Errorf("%s: %v, want a Error that says %q", what, err, words)
		}
	}
	set := func(id job.ID, key string, size int) error {
		return s.SetState(t.Context(), id, "ann", key, bytes.Repeat([]byte("x"), size), noon)
	}
	for _, key := range []string{"", "a b", "a/b", "ä", "a\n", strings.Repeat("k", 129), strings.Repeat("k", 1<<20)} {
		refused(fmt.Sprintf("key %.20q", key), set("a", key, 1), "key")
	}
	if err := set("a", strings.Repeat("k", 128), stateValue); err != nil {
		t.Error(err)
	}
	refused("a big value", set("a", "k", stateValue+1), "65537 bytes")
	for i := range 15 {
		if err := set("a", fmt.Sprint("big", i), stateValue-100); err != nil {
			t.Fatal(err)
		}
	}
	refused("more than 1 MiB", set("a", "more", stateValue), "1048576")
	if err := set("a", "big3", stateValue-200); err != nil {
		t.Errorf("a smaller value in the place of another: %v", err)
	}
	for i := range stateKeys {
		if err := set("b", fmt.Sprint("key", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	refused("a key too many", set("b", "more", 1), "256 keys")
	if err := set("b", "key7", 5); err != nil {
		t.Errorf("another value of a key that is there: %v", err)
	}
	if err := set("c", "more", 1); err != nil {
		t.Errorf("a job beside one that is full: %v", err)
	}
}

// An account has as many jobs as it likes.
func TestStateOfAllJobsOfAnAccountIsBounded(t *testing.T) {
	s := open(t, t.TempDir())
	set := func(id job.ID, user string, size int) error {
		return s.SetState(t.Context(), id, user, "k", make([]byte, size), noon)
	}
	for user, rows := range map[string]struct{ keys, size int }{
		"ann": {accountKeys, 1}, "bob": {accountBytes/stateValue - 1, stateValue}, "root": {accountKeys, 1}, "zoe": {1, 1},
	} {
		if err := set("first", user, rows.size); err != nil {
			t.Fatal(err)
		}
		err := s.db.Write(t.Context(), func(w *database.Writer) error {
			return w.Once(t.Context(), `INSERT INTO state (job, user, key, at, value)
				WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
				SELECT job, user, 'k' || i, at, value FROM n CROSS JOIN state WHERE user = ?2 AND i <= ?1`, int64(rows.keys), user)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for user, words := range map[string]string{"ann": "20000 keys", "bob": "67108864", "root": "", "zoe": ""} {
		err := set("second", user, stateValue)
		if e, ok := errors.AsType[*Error](err); ok != (words != "") || ok && !strings.Contains(e.Error(), words) || !ok && err != nil {
			t.Errorf("%s: %v, want %q", user, err, words)
		}
	}
}

// A commit of runs waits for a transaction, so nothing is counted in one, and no value is read for it.
func TestRoomIsCheckedBeforeTheTransaction(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range stateKeys {
		if err := s.SetState(t.Context(), "a", "ann", fmt.Sprint("key", i), nil, noon); err != nil {
			t.Fatal(err)
		}
	}
	refused := make(chan error, 1)
	err := s.db.Write(t.Context(), func(*database.Writer) error {
		go func() { refused <- s.SetState(t.Context(), "a", "ann", "more", nil, noon) }()
		select {
		case err := <-refused:
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("a key too many: %v, want an Error", err)
			}
		case <-time.After(hosttest.Patience):
			t.Error("a key too many is refused only after the running transaction")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	err = s.db.Each(t.Context(), func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		plan = append(plan, step)
		return err
	}, "EXPLAIN QUERY PLAN "+ofAccount, "ann", "a", "ann", "key1")
	if err != nil || plan[0] != "SEARCH state USING COVERING INDEX state_size (user=?)" {
		t.Errorf("the keys of a user are counted by %q, error %v", plan, err)
	}
}
