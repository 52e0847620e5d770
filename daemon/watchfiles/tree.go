package watchfiles

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Times of the tree.
const (
	syncInterval = time.Minute // at the latest, all globs are looked at again: no event reports a mount, or a new name of a parent
	syncPause    = time.Second // at least, between two such searches
	slack        = time.Second // times of files may lag behind the clock by less
	maxAhead     = time.Minute // see tree.ahead
)

// tree watches the directories of globs, in the user's process. It is used by one goroutine.
type tree struct {
	events   *inotify
	arrivals *arrivals
	watches  map[int]*watch
	dirs     map[string]*dir  // watched directories by path
	numbers  map[int32][]*dir // the same by number; several paths may lead to one directory
	changed  bool             // globs may match other directories than before
	urgent   bool             // without a pause
	lost     time.Time        // events of files that changed later may have been lost; zero: none
	synced   time.Time

	// ahead is how far ahead of the clock the ctime of a file that is found can be. A later one is from
	// before the clock was set back: the file may have been reported, and would be found at each start.
	ahead time.Duration
}

// watch is the files that one job waits for.
type watch struct {
	globs []string
	since time.Time // files of a directory that is found have arrived if they changed later
	fresh bool      // its directories were not read yet
	fault string    // as reported
}

// dir is a watched directory.
type dir struct {
	path    string
	number  int32
	mask    uint32
	files   []target // of globs whose files are here
	awaited []string // patterns of directories that globs continue with
}

// target is a pattern of files that jobs wait for.
type target struct {
	pattern, glob string
	ids           []int
}

func newTree(events *inotify) *tree {
	return &tree{events: events, arrivals: newArrivals(), watches: map[int]*watch{}, dirs: map[string]*dir{}, numbers: map[int32][]*dir{}, ahead: maxAhead}
}

// follow replaces what is watched. Watches with a known ID stay as they are.
func (t *tree) follow(o *order) {
	wanted := map[int]bool{}
	for _, w := range o.Watches {
		wanted[w.ID] = true
		if t.watches[w.ID] != nil {
			continue
		}
		fresh := &watch{since: w.Since, fresh: true}
		for _, glob := range w.Globs {
			fresh.globs = append(fresh.globs, string(glob))
		}
		t.watches[w.ID] = fresh
	}
	for id := range t.watches {
		if !wanted[id] {
			delete(t.watches, id)
			t.arrivals.drop(id)
		}
	}
	t.changed, t.urgent = true, true
}

// maxReads bounds the events that are handled before files are examined.
const maxReads = 64

// step handles all events until now and returns new reports.
func (t *tree) step(now time.Time) (reports []report, err error) {
	for more, reads := true, 0; more && reads < maxReads; reads++ {
		var events []fileEvent
		var lost time.Time
		if events, lost, more, err = t.events.read(now); err != nil {
			return nil, err
		}
		for _, e := range events {
			t.handle(e, now)
		}
		if !lost.IsZero() {
			t.lose(lost.Add(-slack))
		}
	}
	if t.urgent || !now.Before(t.nextSync()) {
		reports = t.sync(now)
	}
	return append(reports, t.arrivals.settle(now)...), nil
}

// next returns when step must be called again if nothing happens.
func (t *tree) next() time.Time {
	next := t.nextSync()
	if wake := t.arrivals.wake; !wake.IsZero() && wake.Before(next) {
		return wake
	}
	return next
}

func (t *tree) nextSync() time.Time {
	if t.changed {
		return t.synced.Add(syncPause)
	}
	return t.synced.Add(syncInterval)
}

// lose records that events may have been lost for files that changed after a time.
func (t *tree) lose(since time.Time) {
	if t.lost.IsZero() || since.Before(t.lost) {
		t.lost = since
	}
	t.changed = true
}

func (t *tree) handle(e fileEvent, now time.Time) {
	const appeared = unix.IN_CREATE | unix.IN_MOVED_TO
	for _, d := range t.numbers[e.number] {
		switch {
		case e.name == "": // the directory was removed, moved or unmounted
			t.changed = true
			continue
		case e.mask&appeared != 0 && slices.ContainsFunc(d.awaited, func(p string) bool { return matches(p, e.name) }):
			t.changed = true
		}
		ids := d.match(e.name)
		if len(ids) == 0 || e.mask&unix.IN_ISDIR != 0 {
			continue
		}
		path := filepath.Join(d.path, e.name)
		switch {
		case e.mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
			t.arrivals.forget(path, ids)
		case e.mask&unix.IN_CREATE != 0:
			t.arrivals.touch(path, ids, created, now) // another event follows, unless it is a link
		case !t.arrivals.touch(path, ids, 0, now):
			t.arrivals.count(ids, now, now)
		}
	}
}

// match returns the jobs that wait for files of a name.
func (d *dir) match(name string) (ids []int) {
	for _, f := range d.files {
		if matches(f.pattern, name) {
			ids = merge(ids, f.ids)
		}
	}
	return ids
}

// sync watches exactly the directories that the globs need now, reads those that are new, and
// returns the changes of faults.
func (t *tree) sync(now time.Time) []report {
	t.changed, t.urgent, t.synced = false, false, now
	l := look{tree: t, dirs: map[string]*dir{}}
	globs := map[string][]int{}
	for id, w := range t.watches {
		for _, glob := range w.globs {
			globs[glob] = append(globs[glob], id)
		}
	}
	faults := map[int]error{}
	for _, glob := range slices.Sorted(maps.Keys(globs)) {
		ids := slices.Sorted(slices.Values(globs[glob]))
		ids = slices.Compact(ids)
		if err := l.follow(glob, ids); err != nil {
			for _, id := range ids {
				faults[id] = cmp.Or(faults[id], err)
			}
		}
	}
	before := t.dirs
	t.replace(l.dirs)
	t.read(before, now)
	return t.report(faults, now)
}

// replace ends the watches of directories that are no longer needed.
func (t *tree) replace(dirs map[string]*dir) {
	numbers := map[int32][]*dir{}
	for _, d := range dirs {
		numbers[d.number] = append(numbers[d.number], d)
	}
	for number := range t.numbers {
		if numbers[number] == nil {
			t.events.remove(number)
		}
	}
	t.dirs, t.numbers = dirs, numbers
}

// read reads the directories that are new for a job, and all if events were lost.
func (t *tree) read(before map[string]*dir, now time.Time) {
	lost := t.lost
	t.lost = time.Time{}
	for _, d := range t.dirs {
		s := scan{tree: t, dir: d, now: now}
		for _, f := range d.files {
			known := before[d.path].has(d.number, f.glob)
			for _, id := range f.ids {
				if w := t.watches[id]; !known || w.fresh {
					s.add(f.pattern, id, w.since)
				} else if !lost.IsZero() {
					s.add(f.pattern, id, lost)
				}
			}
		}
		s.run()
	}
}

// has reports whether the directory was watched for a glob.
func (d *dir) has(number int32, glob string) bool {
	return d != nil && d.number == number && slices.ContainsFunc(d.files, func(f target) bool { return f.glob == glob })
}

// report records that all directories were read, and returns the faults that began or ended. While a
// job has a fault, files can arrive unnoticed, so since stays as it is.
func (t *tree) report(faults map[int]error, now time.Time) (reports []report) {
	for _, id := range slices.Sorted(maps.Keys(t.watches)) {
		w, text := t.watches[id], ""
		w.fresh = false
		if err := faults[id]; err != nil {
			text = err.Error()
		} else {
			w.since = now.Add(-slack)
		}
		if text != w.fault {
			w.fault = text
			reports = append(reports, report{ID: id, Fault: &text})
		}
	}
	return reports
}

// isMissing reports whether a path does not lead to a directory.
func isMissing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
