package spool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

const (
	quietPeriod   = 200 * time.Millisecond
	longestPeriod = 2 * time.Second

	// scanSecond is the second of each minute when everything is scanned, regardless of kernel
	// events: late enough that a change before the minute counts for it, early enough to read a few
	// thousand crontabs.
	scanSecond = 58

	// maxTargets bounds the directories that are watched because links lead
	// there. What is beyond is looked at once a minute.
	maxTargets = 1000
)

// watcher is the part of fsnotify that Watch uses.
type watcher interface {
	Add(dir string) error
	Remove(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

type inotify struct{ *fsnotify.Watcher }

func (w inotify) Events() <-chan fsnotify.Event { return w.Watcher.Events }
func (w inotify) Errors() <-chan error          { return w.Watcher.Errors }

// errNoWatch is the error of a Source with watching disabled.
var errNoWatch = errors.New("watching was turned off, with -i")

func opener(none bool) func() (watcher, error) {
	if none {
		return func() (watcher, error) { return nil, errNoWatch }
	}
	return openInotify
}

func openInotify() (watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return inotify{w}, nil
}

// Watch calls changed when Scan may find something new: soon after a kernel event, and just before
// each minute in any case. If the kernel's watch fails, only the minutes remain; Snapshot.Notice
// then describes the failure, and Watch tries again each minute. changed is called from this
// goroutine, one call at a time; it may Scan. Watch returns when ctx is done.
//
// Minutes are counted on the wall clock. After the clock was set, or the host slept, the first of
// them may be up to a minute late: callers that notice that may scan immediately.
func (s *Source) Watch(ctx context.Context, changed func()) error {
	w := &watch{
		source: s, changed: changed, dirs: map[string]watched{},
		settle: settling{quiet: quietPeriod, most: longestPeriod},
	}
	defer w.lose("")
	now := time.Now()
	w.minute = now.Add(untilSecond(now, scanSecond))
	w.sync(now)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(w.next()))
		select {
		case <-ctx.Done():
			return nil
		case <-s.replan:
			w.sync(time.Now())
		case e, ok := <-w.events():
			w.event(e, ok)
		case err, ok := <-w.errors():
			w.fail(err, ok)
		case <-timer.C:
			w.tick(time.Now())
		}
	}
}

// watch is the state of one Watch.
type watch struct {
	source  *Source
	changed func()
	w       watcher // nil: lost, or not to be had
	dirs    map[string]watched
	settle  settling
	minute  time.Time // next scan in any case
	flooded bool      // the kernel dropped events since the last minute
}

// watched is a directory that the kernel watches for us.
type watched struct {
	id        [2]uint64 // device and inode
	interests []nameFilter
}

// nameFilter selects the relevant names in a directory.
type nameFilter struct {
	accept func(name string) bool
	way    bool // on the path to a directory that must be watched
}

func (w *watch) events() <-chan fsnotify.Event {
	if w.w == nil {
		return nil
	}
	return w.w.Events()
}

func (w *watch) errors() <-chan error {
	if w.w == nil {
		return nil
	}
	return w.w.Errors()
}

// next returns the time for the timer.
func (w *watch) next() time.Time {
	if at, ok := w.settle.due(); ok && at.Before(w.minute) {
		return at
	}
	return w.minute
}

func (w *watch) tick(now time.Time) {
	minute := !now.Before(w.minute)
	if minute {
		w.minute = now.Add(untilSecond(now, scanSecond))
		w.flooded = false
		w.sync(now)
	}
	if at, waiting := w.settle.due(); minute || waiting && !now.Before(at) {
		w.settle.done()
		w.changed()
	}
}

// event takes note of what concerns a crontab.
func (w *watch) event(e fsnotify.Event, ok bool) {
	now := time.Now()
	if !ok {
		w.lose("the kernel's watch ended")
		return
	}
	if _, own := w.dirs[e.Name]; own && e.Has(fsnotify.Remove|fsnotify.Rename) {
		// The kernel's watch ended with the directory, even if another directory with that name
		// exists already.
		delete(w.dirs, e.Name)
		w.sync(now)
		w.settle.touch(now)
		return
	}
	base := filepath.Base(e.Name)
	for _, i := range w.dirs[filepath.Dir(e.Name)].interests {
		if i.accept(base) {
			w.settle.touch(now)
			if i.way {
				w.sync(now)
			}
			return
		}
	}
}

func (w *watch) fail(err error, ok bool) {
	switch {
	case !ok:
		w.lose("the kernel's watch ended")
	case errors.Is(err, fsnotify.ErrEventOverflow):
		// The dropped events are unknown, but the watch continues.
		w.flooded = true
		w.settle.touch(time.Now())
		w.updateNotice("changes come faster than the kernel can report them: crontabs are also checked once a minute")
	default:
		w.lose("the kernel's watch failed: " + err.Error())
	}
}

// lose closes the watch until the next minute.
func (w *watch) lose(why string) {
	if w.w != nil {
		w.w.Close()
	}
	w.w, w.dirs = nil, map[string]watched{}
	if why != "" {
		w.settle.touch(time.Now())
		w.updateNotice(why + ": crontabs are looked at once a minute")
	}
}

// updateNotice sets the notice, and schedules a snapshot if it has changed.
func (w *watch) updateNotice(notice string) {
	if w.source.setNotice(notice) {
		w.settle.touch(time.Now())
	}
}

// sync updates the kernel's watches to the current plan.
func (w *watch) sync(now time.Time) {
	if w.w == nil {
		opened, err := w.source.open()
		if err != nil {
			w.updateNotice("the kernel cannot watch directories (" + err.Error() + "): crontabs are looked at once a minute")
			return
		}
		w.w = opened
	}
	plan := w.source.plan()
	for dir := range w.dirs {
		if plan.dirs[dir] == nil {
			_ = w.w.Remove(dir) // it may be gone already
			delete(w.dirs, dir)
		}
	}
	notice := plan.notice
	for _, dir := range slices.Sorted(maps.Keys(plan.dirs)) {
		err := w.add(dir, plan.dirs[dir], now)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			notice = fmt.Sprintf("the kernel cannot watch %s (%v): it is looked at once a minute", quoted(dir), err)
			delete(w.dirs, dir)
		}
	}
	if !w.flooded || notice != "" {
		w.updateNotice(notice)
	}
}

// add watches one directory. A second add does nothing, and a directory that replaced another is
// watched instead of it.
func (w *watch) add(dir string, interests []nameFilter, now time.Time) error {
	if err := w.w.Add(dir); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	id := [2]uint64{uint64(st.Dev), st.Ino}
	if before, ok := w.dirs[dir]; !ok || before.id != id {
		w.settle.touch(now) // something may have happened before it was watched
	}
	w.dirs[dir] = watched{id, interests}
	return nil
}

// plan is the directories to watch, and which names in them matter.
type plan struct {
	dirs   map[string][]nameFilter
	notice string
}

// setNotice reports whether the notice is another than before.
func (s *Source) setNotice(notice string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.notice != notice
	s.notice = notice
	return changed
}

// plan returns what to watch according to the last scan.
func (s *Source) plan() plan {
	s.mu.Lock()
	targets, o := s.targets, s.options
	s.mu.Unlock()
	p := plan{dirs: map[string][]nameFilter{}}
	for _, path := range o.CalendarFiles {
		p.file(path)
	}
	if o.Files != nil {
		for _, path := range o.Files {
			p.file(path)
		}
	} else {
		accounts := filepath.Dir(o.Paths.Passwd)
		for _, path := range []string{
			o.Paths.Crontab, o.Paths.Anacrontab, o.Paths.Anacron,
			o.Paths.Passwd, filepath.Join(accounts, "shadow"), filepath.Join(accounts, "group"),
		} {
			p.file(path)
		}
		p.directory(o.Paths.CronD, s.accepts(systemCrontab, o.LSBNames))
		p.directory(o.Paths.Users, s.accepts(userCrontab, false))
	}
	p.file(o.Paths.Localtime)
	p.file(o.Paths.Timezone)
	if target, err := filepath.EvalSymlinks(o.Paths.Localtime); err == nil && target != o.Paths.Localtime {
		p.file(target)
	}
	for _, target := range targets {
		if len(p.dirs) > maxTargets {
			p.notice = "links lead to more than 1,000 directories: what the others lead to is looked at once a minute"
			break
		}
		p.file(target)
	}
	return p
}

// accepts returns a function that recognises names of crontabs in a directory.
func (s *Source) accepts(k kind, lsb bool) func(string) bool {
	return func(name string) bool { return ignore(k, s.trust.family, lsb, name) == "" }
}

func (p *plan) file(path string) { p.directory(filepath.Dir(path), exactly(filepath.Base(path))) }

func exactly(name string) func(string) bool {
	return func(other string) bool { return other == name }
}

// directory watches a directory, and the one above it to notice its replacement. If it does not
// exist yet, it watches the nearest existing directory above for the next part of the path.
func (p *plan) directory(dir string, accept func(string) bool) {
	i := nameFilter{accept: accept}
	for !p.watch(dir, i) {
		above := filepath.Dir(dir)
		if above == dir {
			return
		}
		dir, i = above, nameFilter{exactly(filepath.Base(dir)), true}
	}
	if above := filepath.Dir(dir); above != dir {
		p.watch(above, nameFilter{exactly(filepath.Base(dir)), true})
	}
}

// watch returns false if the directory does not exist. The kernel reports events with the real
// path.
func (p *plan) watch(dir string, i nameFilter) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if abs, err := filepath.Abs(real); err == nil {
		real = abs
	}
	p.dirs[real] = append(p.dirs[real], i)
	return true
}
