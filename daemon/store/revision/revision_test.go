package revision

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/store/database"
)

// noon is the instant around which tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// history is the Archive in a database of a test.
type history struct {
	*Archive
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

func save(t *testing.T, s history, r Revision) int64 {
	t.Helper()
	if r.At.IsZero() {
		r.At = noon
	}
	if r.File == "" {
		r.File, r.User = "/spool/bob", "bob"
	}
	id, err := s.SaveRevision(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRevisionComesBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := Revision{
		File: "/etc/cron.d/x", User: "root", At: noon.Add(123), By: "ann", How: Installed,
		Text: []byte("* * * * * a\x00\xff\xfe\n"),
	}
	id := save(t, s, want)
	s = reopen(t, s, dir)
	got, ok, err := s.Revision(t.Context(), id)
	if err != nil || !ok || got.File != want.File || got.User != want.User || !got.At.Equal(want.At) || got.By != want.By ||
		got.How != want.How || got.Gone || got.Size != len(want.Text) || !bytes.Equal(got.Text, want.Text) {
		t.Errorf("got %+v, %t, %v; want %+v", got, ok, err, want)
	}
	if _, ok, err := s.Revision(t.Context(), id+1); ok || err != nil {
		t.Errorf("a revision that is none: %t, %v", ok, err)
	}
}

func TestSaveRevisionOfSameTextIsNoNewOne(t *testing.T) {
	s := open(t, t.TempDir())
	a := save(t, s, Revision{Text: []byte("a\n"), How: Installed, By: "bob"})
	if again := save(t, s, Revision{Text: []byte("a\n"), How: Seen}); again != a {
		t.Errorf("the same text again is revision %d, want %d", again, a)
	}
	empty := save(t, s, Revision{Text: []byte{}})
	gone := save(t, s, Revision{Gone: true, How: Removed})
	still := save(t, s, Revision{Gone: true, How: Seen, Text: []byte("ignored")})
	back := save(t, s, Revision{Text: []byte("a\n")})
	other := save(t, s, Revision{File: "/spool/ann", User: "ann", Text: []byte("a\n")})
	if empty == a || gone == empty || still != gone || back == a || back == gone || other == back {
		t.Errorf("revisions a %d, empty %d, gone %d, still gone %d, a again %d, of another file %d", a, empty, gone, still, back, other)
	}
	r, _, err := s.Revision(t.Context(), gone)
	if err != nil || !r.Gone || r.How != Removed || len(r.Text) != 0 || r.Size != 0 {
		t.Errorf("what stands for the removal: %+v, %v", r, err)
	}
	if r, _, _ := s.Revision(t.Context(), empty); r.Gone {
		t.Error("an empty table is one that was removed")
	}
}

// A watcher may see a version before its author is reported.
func TestSaveRevisionLearnsWhoMadeIt(t *testing.T) {
	s := open(t, t.TempDir())
	for n, test := range []struct {
		late time.Duration
		how  string
		want string
	}{
		{time.Second, Installed, "install bob"},
		{-time.Second, Undone, "undo bob"},
		{time.Hour, Installed, "seen "},
		{time.Second, Seen, "seen "},
	} {
		text := fmt.Append(nil, n)
		id := save(t, s, Revision{Text: text, How: Seen})
		again := save(t, s, Revision{Text: text, How: test.how, By: "bob", At: noon.Add(test.late)})
		r, _, err := s.Revision(t.Context(), id)
		if got := r.How + " " + r.By; again != id || err != nil || got != test.want || !bytes.Equal(r.Text, text) {
			t.Errorf("told as %s %s later: revision %d is %q, %v; want %d, %q", test.how, test.late, again, got, err, id, test.want)
		}
	}
}

// A watcher may report a version when a newer one already exists.
func TestSaveRevisionSeenLateIsNoNewOne(t *testing.T) {
	s := open(t, t.TempDir())
	old := save(t, s, Revision{Text: []byte("old"), How: Installed, By: "bob"})
	gone := save(t, s, Revision{Gone: true, How: Removed, By: "bob"})
	save(t, s, Revision{Text: []byte("new"), How: Installed, By: "bob"})
	for text, want := range map[string]int64{"old": old, "": gone} {
		if id := save(t, s, Revision{Text: []byte(text), Gone: text == "", How: Seen, At: noon.Add(time.Second)}); id != want {
			t.Errorf("%q, seen late, is revision %d, want %d", text, id, want)
		}
	}
	if id := save(t, s, Revision{Text: []byte("old"), How: Seen, At: noon.Add(time.Hour)}); id == old {
		t.Error("what somebody wrote again an hour later is not kept")
	}
}

func TestRevisionsChooses(t *testing.T) {
	s := open(t, t.TempDir())
	var ids []int64
	for n := range 6 {
		name := []string{"ann", "bob"}[n%2]
		ids = append(ids, save(t, s, Revision{File: "/spool/" + name, User: name, Text: fmt.Append(nil, n)}))
	}
	for _, test := range []struct {
		f    Filter
		want []int
	}{
		{Filter{}, []int{5, 4, 3, 2, 1, 0}},
		{Filter{User: "bob"}, []int{5, 3, 1}},
		{Filter{File: "/spool/ann"}, []int{4, 2, 0}},
		{Filter{File: "/spool/ann", User: "bob"}, nil},
		{Filter{User: "bob", Limit: 1, Before: ids[5]}, []int{3}},
	} {
		found, err := s.Revisions(t.Context(), test.f)
		var got, want []int64
		for _, r := range found {
			got = append(got, r.ID)
			if r.Text != nil {
				t.Errorf("Revisions(%+v) has texts", test.f)
			}
		}
		for _, n := range test.want {
			want = append(want, ids[n])
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Revisions(%+v): %v, %v, want %v", test.f, got, err, want)
		}
	}
}

func TestRevisionsAreBounded(t *testing.T) {
	s := open(t, t.TempDir())
	count := func(file string) (n int, oldest Revision) {
		t.Helper()
		found, err := s.Revisions(t.Context(), Filter{File: file, Limit: 10_000})
		if err != nil || len(found) == 0 {
			t.Fatalf("%d revisions, %v", len(found), err)
		}
		return len(found), found[len(found)-1]
	}
	for n := range revisionsKept + 20 {
		save(t, s, Revision{File: "many", Text: fmt.Append(nil, n)})
	}
	if n, _ := count("many"); n != revisionsKept {
		t.Errorf("%d revisions of one file, want %d", n, revisionsKept)
	}
	for n := range 30 {
		save(t, s, Revision{File: "old", Text: fmt.Append(nil, n), At: noon.Add(time.Duration(n) * 24 * time.Hour)})
	}
	save(t, s, Revision{File: "old", Text: []byte("now"), At: noon.Add(400 * 24 * time.Hour)})
	if n, _ := count("old"); n != revisionsFew {
		t.Errorf("%d revisions after a year, want the newest %d", n, revisionsFew)
	}
	if n, _ := count("many"); n != revisionsKept {
		t.Errorf("another file lost revisions: %d", n)
	}
	random, noise := rand.NewChaCha8([32]byte{}), make([]byte, revisionsBytes/2)
	for n := range 4 {
		random.Read(noise)
		save(t, s, Revision{File: "big", Text: append(noise, byte(n))})
		if kept, _ := count("big"); kept != min(n+1, 2) {
			t.Errorf("after %d big revisions %d are kept", n+1, kept)
		}
	}
}

// Numbers are written down by people, so one never comes to mean another
// version.
func TestRevisionNumbersAreNotGivenAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	last := save(t, s, Revision{Text: []byte("a")})
	if err := s.db.Write(t.Context(), func(w *database.Writer) error { return w.Script(t.Context(), "DELETE FROM revision") }); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, dir)
	if id := save(t, s, Revision{Text: []byte("b")}); id <= last {
		t.Errorf("number %d was given again after %d", id, last)
	}
}

// Commits wait for what is saved, so that must not take long even when a
// table is as large as any may be.
func BenchmarkSaveLargeRevision(b *testing.B) {
	s := open(b, b.TempDir())
	random, noise := rand.NewChaCha8([32]byte{}), make([]byte, 16<<20)
	random.Read(noise)
	for n := 0; b.Loop(); n++ {
		noise[0] = byte(n)
		if _, err := s.SaveRevision(b.Context(), Revision{File: "big", At: noon, Text: noise}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNewestRevisionsAreOnePerFile(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, Revision{File: "/a", Text: []byte("1\n")})
	save(t, s, Revision{File: "/b", Text: []byte("1\n")})
	a := save(t, s, Revision{File: "/a", Text: []byte("2\n"), By: "ann"})
	b := save(t, s, Revision{File: "/b", Gone: true})
	got, err := s.NewestRevisions(t.Context())
	if err != nil || len(got) != 2 || got["/a"].ID != a || got["/a"].By != "ann" || got["/b"].ID != b || !got["/b"].Gone {
		t.Errorf("got %+v, %v; want revisions %d and %d", got, err, a, b)
	}
}
