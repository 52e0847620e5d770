package watchfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/filetest"
)

// testTree is a tree on real directories, with a clock of its own. It is an hour slow, so that each
// file has changed after any time of this clock.
type testTree struct {
	*tree
	t     *testing.T
	dir   string
	clock time.Time
}

func newTestTree(t *testing.T) *testTree {
	t.Helper()
	clock := time.Now().Add(-time.Hour)
	events, err := openInotify(clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.close)
	tree := newTree(events)
	tree.ahead = 2 * time.Hour
	return &testTree{tree: tree, t: t, dir: t.TempDir(), clock: clock}
}

// watch watches globs below the directory: job 1 the first one, and so on. Files of before do not
// count.
func (t *testTree) watch(globs ...string) {
	t.t.Helper()
	var o order
	for i, glob := range globs {
		o.Watches = append(o.Watches, ordered{ID: i + 1, Globs: [][]byte{[]byte(t.path(glob))}, Since: time.Now().Add(time.Hour)})
	}
	t.follow(&o)
	t.pass(0)
	for _, w := range t.watches {
		w.since = time.Time{} // now those of new directories do
	}
}

func (t *testTree) path(name string) string { return filepath.Join(t.dir, name) }

func (t *testTree) write(name string) {
	t.t.Helper()
	filetest.Write(t.t, t.path(name), "text", 0o644)
}

func (t *testTree) do(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
}

// pass lets time pass and returns what is reported meanwhile.
func (t *testTree) pass(d time.Duration) (reports []report) {
	t.t.Helper()
	step := func() {
		some, err := t.step(t.clock)
		t.do(err)
		reports = append(reports, some...)
	}
	step()
	for end := t.clock.Add(d); ; step() {
		next := t.next()
		if !next.After(t.clock) {
			next = t.clock.Add(time.Millisecond)
		}
		if next.After(end) {
			t.clock = end
			step()
			return reports
		}
		t.clock = next
	}
}

// want lets time pass and checks the bursts of it, each as "1: a b +2": the job, the names of the
// files, and how many more.
func (t *testTree) want(d time.Duration, want ...string) {
	t.t.Helper()
	var got []string
	for _, r := range t.pass(d) {
		words := []string{fmt.Sprintf("%d:", r.ID)}
		for _, path := range r.Paths {
			words = append(words, strings.TrimPrefix(path, t.dir+"/"))
		}
		switch {
		case r.Fault != nil:
			words = append(words, "fault", *r.Fault)
		case r.More > 0:
			words = append(words, fmt.Sprintf("+%d", r.More))
		}
		got = append(got, strings.Join(words, " "))
	}
	if !slices.Equal(got, want) {
		t.t.Errorf("within %v: got %q, want %q", d, got, want)
	}
}

func TestFileArrives(t *testing.T) {
	tree := newTestTree(t)
	tree.write("old.csv")
	tree.watch("*.csv")
	tree.write("a.csv")
	tree.write("a.txt")
	tree.write(".a.csv.tmp")
	tree.write("dir.csv/x")
	tree.want(990 * time.Millisecond)
	tree.want(20*time.Millisecond, "1: a.csv")
	tree.want(time.Hour)

	tree.write("old.csv") // is written
	tree.want(2*time.Second, "1: old.csv")
	tree.do(os.Chmod(tree.path("a.csv"), 0o600))
	tree.want(time.Minute)
}

// TestFileOpenForWriting: a file counts when it was closed, however long the writer pauses.
func TestFileOpenForWriting(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*")
	f, err := os.Create(tree.path("slow"))
	tree.do(err)
	tree.want(5 * time.Minute)
	tree.write("other") // does not wait for the slow one
	tree.want(2*time.Second, "1: other")
	_, err = f.WriteString("text")
	tree.do(err)
	tree.want(time.Minute)
	tree.do(f.Close())
	tree.want(2*time.Second, "1: slow")
	tree.want(time.Minute)
}

// TestSecondWriter: another process that has the file open for writing delays it.
func TestSecondWriter(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*")
	f, err := os.Create(tree.path("file"))
	tree.do(err)
	tree.write("file")
	tree.want(time.Minute)
	tree.do(f.Close())
	tree.want(2*time.Second, "1: file")
}

// TestFileOfAnotherUser: whether it is open is unknown, so that only the event of its closing ends
// the wait early.
func TestFileOfAnotherUser(t *testing.T) {
	tree := newTestTree(t)
	changed := time.Time{}
	tree.arrivals.examine = func(path string) (condition, time.Time) {
		if _, err := os.Lstat(path); err != nil {
			return gone, time.Time{}
		}
		return unknown, changed
	}
	tree.watch("*")
	f, err := os.Create(tree.path("a"))
	tree.do(err)
	tree.want(30 * time.Second)
	changed = tree.clock // it is written
	tree.want(59 * time.Second)
	tree.do(f.Close())
	tree.want(2*time.Second, "1: a")

	tree.do(os.Link(tree.path("a"), tree.path("b"))) // is never closed
	tree.want(59 * time.Second)
	tree.want(2*time.Second, "1: b")
}

// TestFileThatChanges: writes without an event, by a process that has the file open, put it off.
func TestFileThatChanges(t *testing.T) {
	tree := newTestTree(t)
	tree.arrivals.examine = func(string) (condition, time.Time) { return unknown, tree.clock.Add(-100 * time.Millisecond) }
	tree.watch("*")
	tree.write("a")
	tree.want(time.Minute)
	last := tree.clock
	tree.arrivals.examine = func(string) (condition, time.Time) { return unknown, last }
	tree.want(2*time.Second, "1: a")
}

func TestFileIsMovedIntoPlace(t *testing.T) {
	tree := newTestTree(t)
	tree.write("tmp/a")
	tree.write("tmp/b")
	tree.do(os.Mkdir(tree.path("in"), 0o755))
	tree.watch("in/*")
	tree.do(os.Rename(tree.path("tmp/a"), tree.path("in/a")))
	tree.do(os.Link(tree.path("tmp/b"), tree.path("in/b")))
	tree.do(os.Symlink(tree.path("tmp/b"), tree.path("in/link")))
	tree.want(3*time.Second, "1: in/a in/b")
}

func TestFileIsRemoved(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*")
	tree.write("a")
	tree.write("b")
	tree.want(500 * time.Millisecond)
	tree.do(os.Remove(tree.path("a")))
	tree.do(os.Rename(tree.path("b"), tree.path(".b")))
	tree.want(time.Minute)

	tree.write("c")
	tree.want(900 * time.Millisecond)
	tree.write("d") // the burst waits for it
	tree.want(500 * time.Millisecond)
	tree.do(os.Remove(tree.path("c")))
	tree.want(time.Minute, "1: d")
}

func TestBurst(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*.a", "*.b")
	for i := range 5 {
		tree.write(fmt.Sprintf("%d.a", i))
		tree.want(500 * time.Millisecond)
	}
	tree.write("x.b")
	tree.want(2*time.Second, "1: 0.a 1.a 2.a 3.a 4.a", "2: x.b")

	reports := 0
	for i := range 30 { // it never ends
		tree.write(fmt.Sprintf("%d.a", i))
		reports += len(tree.pass(500 * time.Millisecond))
	}
	if reports != 1 {
		t.Errorf("%d bursts in 15 seconds, want 1 after 11", reports)
	}
}

func TestTwoJobsWithOneGlob(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*.csv", "*.csv", "a.*", "*.txt")
	tree.write("a.csv")
	tree.want(2*time.Second, "1: a.csv", "2: a.csv", "3: a.csv")
}

func TestDirectoryIsMadeLater(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("in/*/x/*.csv", "other/done")
	tree.write("in/box/x/a.csv")
	tree.write("other/done")
	tree.want(4*time.Second, "1: in/box/x/a.csv", "2: other/done")
	tree.write("in/box/x/b.csv")
	tree.want(2*time.Second, "1: in/box/x/b.csv")
	tree.write("in/new/x/c.csv")
	tree.want(4*time.Second, "1: in/new/x/c.csv")
}

func TestDirectoryIsReplaced(t *testing.T) {
	tree := newTestTree(t)
	tree.write("in/a")
	tree.watch("in/*")
	tree.do(os.RemoveAll(tree.path("in")))
	tree.want(2 * time.Second)
	tree.write("in/b")
	tree.want(4*time.Second, "1: in/b")

	tree.do(os.Rename(tree.path("in"), tree.path("gone")))
	tree.write("in/c")
	tree.want(4*time.Second, "1: in/c")
	tree.write("gone/d")
	tree.want(time.Minute)
}

// TestParentIsReplaced: no event reports it, so it is noticed within a minute.
func TestParentIsReplaced(t *testing.T) {
	tree := newTestTree(t)
	tree.write("one/in/old")
	tree.do(os.Symlink("one", tree.path("current")))
	tree.watch("current/in/*")
	tree.do(os.Remove(tree.path("current")))
	tree.write("two/in/new")
	tree.do(os.Symlink("two", tree.path("current")))
	tree.want(2*time.Minute, "1: current/in/new")
}

// TestFilesThatArrivedBefore: the files of a new job that changed after a time count.
func TestFilesThatArrivedBefore(t *testing.T) {
	tree := newTestTree(t)
	tree.write("in/a")
	_, since := examine(tree.path("in/a"))
	for changed := since; !changed.After(since); _, changed = examine(tree.path("in/b")) {
		tree.write("in/b")
	}
	tree.write("in/.hidden")
	tree.follow(&order{Watches: []ordered{
		{ID: 1, Globs: [][]byte{[]byte(tree.path("in/*"))}, Since: since},
		{ID: 2, Globs: [][]byte{[]byte(tree.path("in/*")), []byte(tree.path("*/a"))}},
	}})
	tree.want(3*time.Second, "1: in/b", "2: in/a in/b")

	// Further jobs do not have the files of the first ones counted again.
	tree.follow(&order{Watches: []ordered{
		{ID: 2, Globs: [][]byte{[]byte(tree.path("in/*")), []byte(tree.path("*/a"))}},
		{ID: 3, Globs: [][]byte{[]byte(tree.path("in/*"))}, Since: since},
	}})
	tree.want(3*time.Second, "3: in/b")
	tree.write("in/c")
	tree.want(3*time.Second, "2: in/c", "3: in/c")
}

// TestFilesBeforeTheClockWasSetBack: files that changed in the future are not found, but noticed.
func TestFilesBeforeTheClockWasSetBack(t *testing.T) {
	tree := newTestTree(t)
	tree.ahead = maxAhead
	tree.write("before")
	tree.follow(&order{Watches: []ordered{{ID: 1, Globs: [][]byte{[]byte(tree.path("*"))}}}})
	tree.want(time.Minute)
	tree.write("now")
	tree.want(2*time.Second, "1: now")
}

// TestLostEvents: when the kernel's queue was full, directories are read.
func TestLostEvents(t *testing.T) {
	tree := newTestTree(t)
	tree.write("in/.x")
	tree.watch("in/*", "missing/*")
	for before, full := -1, false; !full; {
		for range 1000 { // the kernel counts all that wait, one by one
			tree.do(os.Rename(tree.path("in/.x"), tree.path("in/.y")))
			tree.do(os.Rename(tree.path("in/.y"), tree.path("in/.x")))
		}
		waiting, err := unix.IoctlGetInt(tree.events.fd, unix.TIOCINQ)
		tree.do(err)
		full, before = waiting == before, waiting
	}
	tree.write("in/a")
	tree.write("missing/b")
	tree.want(5*time.Second, "1: in/a", "2: missing/b")
	tree.want(time.Minute)
}

// TestLostEventsCountOnce: a file that arrived just before events were lost does not count again.
func TestLostEventsCountOnce(t *testing.T) {
	tree := newTestTree(t)
	tree.watch("*")
	tree.write("a")
	tree.want(1100*time.Millisecond, "1: a")
	tree.write("b")
	tree.pass(100 * time.Millisecond)
	tree.lose(time.Time{})
	tree.want(time.Minute, "1: b")
}

func TestBurstIsBounded(t *testing.T) {
	burst := func(names ...string) report {
		t.Helper()
		a := newArrivals()
		a.examine = func(string) (condition, time.Time) { return closed, time.Time{} }
		now := time.Now()
		for _, name := range names {
			a.touch("/srv/in/"+name, []int{1}, 0, now)
		}
		reports := a.settle(now.Add(quiet))
		if len(reports) != 1 {
			t.Fatalf("%d files: got %d reports", len(names), len(reports))
		}
		if err := reports[0].check(); err != nil || !slices.IsSorted(reports[0].Paths) {
			t.Errorf("%d files: got an invalid report: %v", len(names), err)
		}
		return reports[0]
	}
	names := []string{"new\nline", "\xff"}
	for i := range maxPaths + 20 {
		names = append(names, fmt.Sprintf("%04d", i))
	}
	if r := burst(names...); len(r.Paths) != maxPaths || r.More != 22 {
		t.Errorf("got %d paths and %d more", len(r.Paths), r.More)
	}

	names = nil
	for i := range 500 {
		names = append(names, fmt.Sprintf("%s%d", strings.Repeat("x", 200), i))
	}
	r, bytes := burst(names...), 0
	for _, path := range r.Paths {
		bytes += len(path)
	}
	if bytes > maxPathBytes || len(r.Paths) == 0 || len(r.Paths)+r.More != 500 {
		t.Errorf("got %d bytes of paths, %d paths and %d more", bytes, len(r.Paths), r.More)
	}
}

// TestPendingFilesAreBounded: files beyond the limit count as arrived, without their names.
func TestPendingFilesAreBounded(t *testing.T) {
	a := newArrivals()
	a.examine = func(string) (condition, time.Time) { return closed, time.Time{} }
	now := time.Now()
	for i := range maxPending {
		a.touch(fmt.Sprintf("/%d", i), []int{1}, 0, now)
	}
	if a.touch("/more", []int{1, 2}, 0, now) || !a.touch("/1", []int{1}, 0, now) {
		t.Error("the number of pending files is not limited")
	}
	a.count([]int{1, 2}, now, now)
	reports := a.settle(now.Add(quiet))
	if len(reports) != 2 || len(reports[0].Paths)+reports[0].More != maxPending+1 || reports[1].More != 1 || !reports[1].Newest.Equal(now) {
		t.Errorf("got %d reports", len(reports))
	}
}

func TestGlobs(t *testing.T) {
	for glob, ok := range map[string]bool{
		"/srv/in/*.csv": true, "/*/[a-z]/x?": true, "/done": true,
		"srv/*": false, "": false, "/srv/in/": false, "/srv/[a/x": false, "/a\x00b": false, "/" + strings.Repeat("x", maxPath): false,
	} {
		if err := checkGlob(glob); (err == nil) != ok {
			t.Errorf("%q: %v", glob, err)
		}
	}
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a", true}, {"*", ".a", false}, {".*", ".a", true}, {"?a", ".a", false}, {"[.]a", ".a", false}, {"a", "a", true}, {`\*`, "*", true}, {"a*", "b", false},
	} {
		if got := matches(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s and %s: got %v", tt.pattern, tt.name, got)
		}
	}
}

// TestPipeIsNoDirectory: a user can replace a directory by a pipe before it is read.
func TestPipeIsNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := eachName(path, func(string) error { return nil }); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("reading a pipe: got %v, want %v", err, unix.ENOTDIR)
	}
}
