package audit

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// noon is the instant around which tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func open(t testing.TB) *Log {
	t.Helper()
	db, err := database.Open(t.Context(), t.TempDir(), func(context.Context, *database.Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return New(db)
}

func (l *Log) add(t testing.TB, perShare int, actions ...job.Action) {
	t.Helper()
	if err := l.Record(t.Context(), perShare, actions...); err != nil {
		t.Fatal(err)
	}
}

func (l *Log) get(t testing.TB, f Filter) []job.Action {
	t.Helper()
	found, err := l.Actions(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// subjects lists the subjects of the selected actions, newest first.
func (l *Log) subjects(t testing.TB, f Filter) string {
	t.Helper()
	text := ""
	for _, a := range l.get(t, f) {
		text += a.Subject + " "
	}
	return strings.TrimSuffix(text, " ")
}

func TestActionComesBack(t *testing.T) {
	l := open(t)
	uid := uint32(1000)
	want := job.Action{
		ID: 1, At: noon.Add(123), Who: "ann", UID: &uid, From: "socket, process 7", What: "pause", Subject: "etl", Owner: "bob",
		Why: "new disk", Before: "not paused", After: "paused", Refused: "no",
	}
	l.add(t, 10, want, job.Action{At: noon, From: "file", What: "edit", Why: strings.Repeat("ä", 400)})
	got := l.get(t, Filter{})
	if len(got) != 2 || got[0].UID != nil || len(got[0].Why) > job.MaxText+3 {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
}

func TestActionsBySelection(t *testing.T) {
	l := open(t)
	for i := range 4 {
		l.add(t, 10, job.Action{At: noon.Add(time.Duration(i) * time.Hour), Subject: fmt.Sprint("j", i), What: fmt.Sprint("do", i%2)})
	}
	for want, f := range map[string]Filter{
		"j3 j2 j1 j0": {},
		"j3 j2":       {Limit: 2},
		"j1 j0":       {Before: 3},
		"j2 j1":       {Since: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)},
		"j3 j0":       {Jobs: []job.ID{"j0", "j3", "other"}},
		"j3 j1":       {What: "do1"},
		"":            {Jobs: []job.ID{}},
	} {
		if got := l.subjects(t, f); got != want {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
}

// A user sees own actions and those on own jobs, but not those of an earlier user with the uid.
func TestActionsOfUser(t *testing.T) {
	l := open(t)
	ann := Share(1000)
	l.add(t, 10,
		job.Action{Who: "ann", Share: ann, Subject: "by-ann"}, job.Action{Who: "old", Share: ann, Subject: "by-old"},
		job.Action{Who: "root", Owner: "ann", Subject: "anns"}, job.Action{Who: "ann", Share: Share(7), Subject: "by-other-ann"},
		job.Action{Who: "bob", Share: Share(1001), Owner: "bob", Subject: "bobs"})
	if got := l.subjects(t, Filter{User: "ann", UID: 1000}); got != "anns by-ann" {
		t.Errorf("ann sees %q", got)
	}
}

// A user who acts without end pushes out only own entries, in however many steps.
func TestActionsAreLimitedPerShare(t *testing.T) {
	l := open(t)
	l.add(t, 150, job.Action{Who: "root", Subject: "roots"}, job.Action{Who: "bob", Share: "bob", Subject: "bobs"})
	for range 3 {
		many := make([]job.Action, 250)
		for i := range many {
			many[i] = job.Action{Who: "ann", Share: "ann", Subject: fmt.Sprint(i)}
		}
		l.add(t, 150, many...)
	}
	got := l.get(t, Filter{Limit: 10_000})
	n := len(got)
	if n < 152 || n > 152+slice || got[0].Subject != "249" || got[149].Subject != "100" || got[n-2].Subject != "bobs" || got[n-1].Subject != "roots" {
		t.Errorf("%d actions are left: %+v", n, got)
	}
	l = New(l.db)                                                       // a restart
	l.add(t, 50, job.Action{Who: "ann", Share: "ann", Subject: "last"}) // with a smaller limit
	if got := l.get(t, Filter{Limit: 10_000}); len(got) != 52 || got[0].Subject != "last" || got[1].Subject != "249" {
		t.Errorf("%d actions are left, want 52", len(got))
	}
}

func TestExpire(t *testing.T) {
	l := open(t)
	old := make([]job.Action, 3*slice)
	for i := range old {
		old[i] = job.Action{At: noon.Add(-time.Hour), Subject: "old"}
	}
	l.add(t, 10, old...)
	l.add(t, 10, job.Action{At: noon, Subject: "new"})
	if err := l.Expire(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	if got := l.subjects(t, Filter{Limit: 1000}); got != "new" {
		t.Errorf("left: %q", got)
	}
}

// BenchmarkRecord writes actions of a user who has as many as the log keeps.
func BenchmarkRecord(b *testing.B) {
	l := open(b)
	for range 100 {
		many := make([]job.Action, 100)
		for i := range many {
			many[i] = job.Action{At: noon, Who: "ann", Share: Share(1000), Subject: "job", Why: strings.Repeat("x", 100)}
		}
		l.add(b, 10_000, many...)
	}
	for b.Loop() {
		l.add(b, 10_000, job.Action{At: noon, Who: "ann", Share: Share(1000), Subject: "job", Why: strings.Repeat("x", 100)})
	}
}
