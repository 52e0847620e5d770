package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/cronring/cronring/crontab"
)

// watching is a real watch of a host in a directory, with the kernel's events.
type watching struct {
	*reads
	snaps chan Snapshot
}

func (h *crontabDirs) watch() *watching {
	h.Helper()
	return h.watchSource(OpenSource(h.options()))
}

func (h *crontabDirs) watchSource(s *Source) *watching {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	w := &watching{reads: &reads{crontabDirs: h, Source: s}, snaps: make(chan Snapshot)}
	w.scan()
	ended := make(chan error, 1)
	go func() {
		ended <- w.Source.Watch(ctx, func() {
			snap := w.Scan(ctx)
			select {
			case w.snaps <- snap:
			case <-ctx.Done():
			}
		})
	}()
	h.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.Errorf("watch: %v", err)
		}
	})
	w.await(func(Snapshot) bool { return true }) // what may have happened before it watched
	return w
}

// await takes scans until one is as wanted, for less than a minute, so that not
// each of them can be owed to the minute's scan.
func (w *watching) await(wanted func(Snapshot) bool) Snapshot {
	w.Helper()
	deadline := time.After(50 * time.Second)
	for {
		select {
		case snap := <-w.snaps:
			if w.Snapshot = snap; wanted(snap) {
				return snap
			}
		case <-deadline:
			w.Fatalf("no scan found what was done; the last has %d crontabs, refused %v, notice %q", len(w.Crontabs), w.Refused, w.Notice)
		}
	}
}

func (w *watching) awaitCommands(want string) {
	w.Helper()
	w.await(func(s Snapshot) bool { return (&reads{Snapshot: s}).commands() == want })
}

func TestWatchSeesEveryWayToChange(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	h.write(h.places.Passwd, "", 0o644, 0)
	w := h.watch()
	if w.Notice != "" {
		t.Fatalf("notice %q of a watch that works", w.Notice)
	}
	h.write(h.places.Crontab, "1 1 * * * root main\n", 0o644, 0)
	w.awaitCommands("root:main")
	h.write(h.system("pkg"), "1 1 * * * root pkg\n", 0o644, 0)
	w.awaitCommands("root:main root:pkg")
	h.write(h.system("new"), "1 1 * * * root pkg2\n", 0o644, 0)
	h.must(os.Rename(h.system("new"), h.system("pkg")))
	w.awaitCommands("root:main root:pkg2")
	h.write(h.user("bob"), "1 1 * * * bobs\n", 0o600, bobUID)
	w.awaitCommands("root:main root:pkg2 bob:bobs")
	h.must(os.Chmod(h.user("bob"), 0o666))
	w.await(func(s Snapshot) bool { return len(s.Refused) == 1 && s.Refused[0].Kept })
	h.must(os.Remove(h.user("bob")))
	w.awaitCommands("root:main root:pkg2")

	// The target of a link, in a directory that was not watched yet.
	away := filepath.Join(t.TempDir(), "opt")
	h.must(os.Mkdir(away, 0o755))
	target := filepath.Join(away, "cron")
	h.write(target, "1 1 * * * root far\n", 0o644, 0)
	h.link(h.system("app"), target)
	w.awaitCommands("root:main root:far root:pkg2")
	h.write(target, "1 1 * * * root far2\n", 0o644, 0)
	w.awaitCommands("root:main root:far2 root:pkg2")

	// The zone.
	if _, set := os.LookupEnv("TZ"); !set {
		h.link(h.places.Localtime, "/usr/share/zoneinfo/Asia/Tokyo")
		w.await(func(s Snapshot) bool { return s.Zone.String() == "Asia/Tokyo" })
	}
}

func TestWatchSeesDirectoriesComeAndGo(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	root := filepath.Dir(filepath.Dir(h.places.Crontab))
	h.must(os.RemoveAll(filepath.Join(root, "etc")))
	h.must(os.RemoveAll(filepath.Join(root, "var")))
	w := h.watch()
	for range 3 {
		h.must(os.MkdirAll(h.places.Users, 0o755))
		h.write(h.user("bob"), "1 1 * * * bobs\n", 0o600, bobUID)
		w.awaitCommands("bob:bobs")
		h.must(os.MkdirAll(h.places.CronD, 0o755))
		h.write(h.system("pkg"), "1 1 * * * root pkg\n", 0o644, 0)
		w.awaitCommands("root:pkg bob:bobs")

		// Another directory takes its place; the old one lives on elsewhere.
		h.must(os.Rename(h.places.CronD, h.places.CronD+".old"))
		h.must(os.Mkdir(h.places.CronD, 0o755))
		w.awaitCommands("bob:bobs")
		h.write(h.system("pkg"), "1 1 * * * root other\n", 0o644, 0)
		w.awaitCommands("root:other bob:bobs")

		h.must(os.RemoveAll(filepath.Join(root, "etc")))
		w.awaitCommands("bob:bobs")
		h.must(os.RemoveAll(filepath.Join(root, "var")))
		w.awaitCommands("")
	}
}

func TestWatchSettlesAThousandEdits(t *testing.T) {
	needRoot(t)
	h := newCrontabDirs(t, crontab.Debian)
	w := h.watch()
	start, scans := time.Now(), 0
	go func() {
		for i := range 1000 {
			_ = os.WriteFile(h.system("pkg"), fmt.Appendf(nil, "1 1 * * * root v%d\n", i), 0o644)
			time.Sleep(time.Until(start.Add(time.Duration(i+1) * time.Millisecond))) // the pace of the load, not a wait
		}
	}()
	w.await(func(s Snapshot) bool {
		scans++
		return (&reads{Snapshot: s}).commands() == "root:v999"
	})
	// Where the pace cannot be kept, it is quiet in between.
	took := time.Since(start)
	if most := 8 + int(took/quietPeriod); scans > most {
		t.Errorf("1,000 edits in %v led to %d scans, want %d at most", took, scans, most)
	}
}

func TestWatchSeesFilesNamedByHand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "table")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(file, []byte("1 1 * * * one\n"), 0o600))
	h := &crontabDirs{TB: t}
	w := h.watchSource(OpenSource(SourceOptions{Host: Host{Account: "ann"}, Files: []string{file}}))
	w.runs("ann:one")
	must(os.WriteFile(file+".new", []byte("1 1 * * * two\n"), 0o600))
	must(os.Rename(file+".new", file))
	w.awaitCommands("ann:two")
}

// fake is a watcher whose events are the test's.
type fake struct {
	mu     sync.Mutex
	dirs   []string
	refuse map[string]error
	events chan fsnotify.Event
	errors chan error
	closed bool
}

func newFake() *fake { return &fake{refuse: map[string]error{}} }

// open makes the channels, which must belong to the bubble.
func (f *fake) open() (watcher, error) {
	f.events, f.errors = make(chan fsnotify.Event), make(chan error)
	return f, nil
}

func (f *fake) Add(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.dirs, dir) && f.refuse[dir] == nil {
		f.dirs = append(f.dirs, dir)
	}
	return f.refuse[dir]
}

func (f *fake) Remove(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dirs = slices.DeleteFunc(f.dirs, func(d string) bool { return d == dir })
	return nil
}

func (f *fake) Events() <-chan fsnotify.Event { return f.events }
func (f *fake) Errors() <-chan error          { return f.errors }

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fake) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// bubble runs a watch in a bubble of synthetic time, which begins at a full
// minute. calls notes when changed was called, and what the notice was.
type bubble struct {
	*crontabDirs
	source  *Source
	begin   time.Time
	mu      sync.Mutex
	calls   []time.Duration
	notices []string
}

func inBubble(t *testing.T, open func() (watcher, error), test func(b *bubble)) {
	t.Helper()
	h := newCrontabDirs(t, crontab.Debian)
	synctest.Test(t, func(t *testing.T) {
		h.TB = t
		b := &bubble{crontabDirs: h, source: OpenSource(h.options()), begin: time.Now()}
		b.source.open = open
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- b.source.Watch(ctx, func() {
				snap := b.source.Scan(ctx)
				b.mu.Lock()
				defer b.mu.Unlock()
				b.calls = append(b.calls, time.Since(b.begin))
				b.notices = append(b.notices, snap.Notice)
			})
		}()
		synctest.Wait()
		test(b)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// wait lets synthetic time pass until d after the begin.
func (b *bubble) wait(d time.Duration) {
	time.Sleep(time.Until(b.begin.Add(d)))
	synctest.Wait()
}

func (b *bubble) called(want ...time.Duration) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.calls, want) {
		b.Errorf("scans after %v\nwant %v", b.calls, want)
	}
	b.calls = nil
}

func (b *bubble) notice(part string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.notices[len(b.notices)-1]; part == "" && last != "" || !strings.Contains(last, part) {
		b.Errorf("notice %q, want %q", last, part)
	}
}

const ms = time.Millisecond

func TestWatchSettlesAndScansEachMinute(t *testing.T) {
	f := newFake()
	inBubble(t, f.open, func(b *bubble) {
		b.wait(5 * time.Second)
		b.called(200 * ms)
		b.notice("")
		touch := func(path string) { f.events <- fsnotify.Event{Name: path, Op: fsnotify.Write} }
		touch(b.system("pkg"))
		touch(b.system("pkg"))
		b.wait(5*time.Second + 150*ms)
		touch(b.system("pkg"))
		b.wait(10 * time.Second)
		b.called(5*time.Second + 350*ms)
		for i := range 50 { // never quiet
			touch(b.user("bob"))
			b.wait(10*time.Second + time.Duration(i+1)*100*ms)
		}
		b.wait(20 * time.Second)
		// The last edit is at 14.9 s.
		b.called(12*time.Second, 14*time.Second, 15*time.Second+100*ms)
		for _, path := range []string{b.system("backup.sh"), b.user(".swp"), filepath.Join(filepath.Dir(b.places.Crontab), "motd"), "/nowhere/else"} {
			touch(path)
		}
		b.wait(50 * time.Second)
		b.called()
		b.wait(3*time.Minute + 59*time.Second + 850*ms)
		b.called(58*time.Second, 118*time.Second, 178*time.Second, 238*time.Second)
		touch(b.places.Crontab)
		b.wait(4*time.Minute + 30*time.Second)
		b.called(4*time.Minute - 100*ms) // before second 0
	})
	if !f.isClosed() {
		t.Error("the watcher is not closed at the end")
	}
}

func TestWatchFallsBackToMinutesAndSaysSo(t *testing.T) {
	var mu sync.Mutex
	tries, working := 0, newFake()
	inBubble(t, func() (watcher, error) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries <= 2 {
			return nil, errors.New("too many open files")
		}
		return working.open()
	}, func(b *bubble) {
		b.wait(time.Second)
		b.called(200 * ms)
		b.notice("too many open files")
		b.wait(59 * time.Second)
		b.called(58 * time.Second) // tried again, in vain
		b.wait(2 * time.Minute)
		b.notice("")
		b.called(118 * time.Second)

		// A watch that is lost while it works.
		working.errors <- errors.New("read inotify: input/output error")
		b.wait(2*time.Minute + 10*time.Second)
		b.notice("input/output error")
		b.called(2*time.Minute + 200*ms)
		if !working.isClosed() {
			t.Error("the lost watcher is not closed")
		}
		b.wait(3 * time.Minute)
		b.notice("")
	})
}

func TestWatchSaysWhichDirectoryIsNotWatched(t *testing.T) {
	f := newFake()
	inBubble(t, f.open, func(b *bubble) {
		f.mu.Lock()
		f.refuse[b.places.Users] = errors.New("no space left on device")
		f.mu.Unlock()
		b.wait(59 * time.Second)
		b.notice("no space left on device")
		b.notice(b.places.Users)
		f.mu.Lock()
		clear(f.refuse)
		f.mu.Unlock()
		b.wait(2 * time.Minute)
		b.notice("")
	})
}

func TestWatchScansAfterAnOverflow(t *testing.T) {
	f := newFake()
	inBubble(t, f.open, func(b *bubble) {
		b.wait(10 * time.Second)
		b.called(200 * ms)
		f.errors <- fsnotify.ErrEventOverflow
		b.wait(20 * time.Second)
		b.called(10*time.Second + 200*ms)
		b.notice("faster than the kernel can report")
		b.wait(59 * time.Second)
		b.notice("")
		f.events <- fsnotify.Event{Name: b.places.Crontab, Op: fsnotify.Create}
		b.wait(65 * time.Second)
		b.called(58*time.Second, 59*time.Second+200*ms)
	})
}

func TestWatchCanBeTurnedOff(t *testing.T) {
	inBubble(t, opener(true), func(b *bubble) {
		b.wait(2 * time.Minute)
		b.notice("turned off, with -i")
		b.called(200*ms, 58*time.Second, 118*time.Second)
	})
}
