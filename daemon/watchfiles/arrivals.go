package watchfiles

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Times of arrivals.
const (
	quiet     = time.Second      // without a change, after which a file has arrived
	created   = time.Minute      // the same for a created file that may still be open
	found     = 5 * time.Second  // the same for a file that was found in a directory and may be open
	recheck   = 10 * time.Second // between two looks at a file that is open for writing
	maxBurst  = 10 * time.Second // from the first file of a burst to its report
	shortWait = 50 * time.Millisecond
)

// maxPending limits the files that are about to arrive, and the files that arrived recently. Further
// files count as arrived immediately, and their names are not reported.
const maxPending = 20_000

// lately is how long a file that arrived is remembered, so that it does not count again if events
// were lost meanwhile and its directory is read.
const lately = 5 * time.Second

// arrivals collects files until they have arrived, and arrived files until their burst is over.
type arrivals struct {
	pending map[string]*pendingFile
	bursts  map[int]*burst
	arrived map[string]arrival // lately
	wake    time.Time          // when something may be due; zero: never
	examine func(path string) (condition, time.Time)
}

// pendingFile is a file that may have arrived.
type pendingFile struct {
	ids     []int         // of jobs that wait for it; shared with others, so it is replaced as a whole
	changed time.Time     // when the last change was noticed
	due     time.Time     // time of the next examination
	pause   time.Duration // required time without a change if the file may be open; 0: it was closed
	isOpen  bool          // the last examination found it open for writing
}

// arrival is a file that arrived.
type arrival struct {
	ids         []int
	changed, at time.Time
}

// burst is the files that have arrived for a job and are not reported yet.
type burst struct {
	paths  map[string]bool
	bytes  int // of all paths
	more   int
	first  time.Time // when the first file arrived
	newest time.Time // the latest ctime
}

func newArrivals() *arrivals {
	return &arrivals{pending: map[string]*pendingFile{}, bursts: map[int]*burst{}, arrived: map[string]arrival{}, examine: examine}
}

// touch records that a file changed. pause is 0 if the file was closed, and created or found
// otherwise. It returns false if maxPending is reached.
func (a *arrivals) touch(path string, ids []int, pause time.Duration, now time.Time) bool {
	f := a.pending[path]
	switch {
	case f == nil && len(a.pending) >= maxPending:
		return false
	case f == nil:
		f = &pendingFile{}
		a.pending[path] = f
	}
	f.ids, f.changed, f.due, f.pause, f.isOpen = merge(f.ids, ids), now, now.Add(quiet), pause, false
	a.wakeAt(f.due)
	return true
}

// has reports whether a file with this ctime is pending for a job, or has arrived lately.
func (a *arrivals) has(path string, id int, changed time.Time) bool {
	if f := a.pending[path]; f != nil && slices.Contains(f.ids, id) {
		return true
	}
	before, ok := a.arrived[path]
	return ok && before.changed.Equal(changed) && slices.Contains(before.ids, id)
}

// forget notes that a file was removed.
func (a *arrivals) forget(path string, ids []int) {
	delete(a.pending, path)
	for _, id := range ids {
		if b := a.bursts[id]; b != nil && b.paths[path] {
			delete(b.paths, path)
			b.bytes -= len(path)
		}
	}
}

// count notes that a file arrived that maxPending excludes.
func (a *arrivals) count(ids []int, changed, now time.Time) {
	for _, id := range ids {
		b := a.burst(id, changed, now)
		b.more = min(b.more+1, maxMore)
	}
	a.wakeAt(now.Add(quiet))
}

// burst returns the burst of a job, which a file joins.
func (a *arrivals) burst(id int, changed, now time.Time) *burst {
	b := a.bursts[id]
	if b == nil {
		b = &burst{paths: map[string]bool{}, first: now}
		a.bursts[id] = b
	}
	if changed.After(b.newest) {
		b.newest = changed
	}
	return b
}

// drop forgets the burst of a job that no longer waits for files.
func (a *arrivals) drop(id int) { delete(a.bursts, id) }

func (a *arrivals) wakeAt(t time.Time) {
	if a.wake.IsZero() || t.Before(a.wake) {
		a.wake = t
	}
}

// settle examines the files that are due and returns the bursts that are over.
func (a *arrivals) settle(now time.Time) []report {
	if a.wake.IsZero() || now.Before(a.wake) {
		return nil
	}
	for path, f := range a.pending {
		if !f.due.After(now) {
			a.look(path, f, now)
		}
	}
	over := a.over(now)
	maps.DeleteFunc(a.arrived, func(_ string, f arrival) bool { return now.Sub(f.at) > lately })
	a.wake = time.Time{}
	for _, f := range a.pending {
		a.wakeAt(f.due)
	}
	for _, b := range a.bursts {
		a.wakeAt(b.first.Add(maxBurst))
	}
	if soon := now.Add(shortWait); !a.wake.IsZero() && a.wake.Before(soon) {
		a.wake = soon
	}
	return over
}

// look examines a file that is due.
func (a *arrivals) look(path string, f *pendingFile, now time.Time) {
	c, changed := a.examine(path)
	f.isOpen = c == open
	last := f.changed
	if changed.After(last) && !changed.After(now) {
		last = changed // a clock that was set back, or the clock of another host, must not delay the file
	}
	switch {
	case c == gone:
		delete(a.pending, path)
	case c == open:
		f.due, f.pause = now.Add(recheck), created
	case now.Sub(last) < quiet:
		f.changed, f.due = last, last.Add(quiet)
	case c == closed && f.pause > 0:
		// The close event may arrive later.
		f.changed, f.due, f.pause = now, now.Add(quiet), 0
	case c == unknown && now.Sub(last) < f.pause:
		f.due = last.Add(f.pause)
	default:
		delete(a.pending, path)
		a.arrive(path, f.ids, changed, now)
	}
}

func (a *arrivals) arrive(path string, ids []int, changed, now time.Time) {
	if len(a.arrived) < maxPending {
		a.arrived[path] = arrival{ids, changed, now}
	}
	for _, id := range ids {
		b := a.burst(id, changed, now)
		switch {
		case b.paths[path]:
		case len(b.paths) >= maxPaths || b.bytes+len(path) > maxPathBytes || !listable(path):
			b.more = min(b.more+1, maxMore)
		default:
			b.paths[path] = true
			b.bytes += len(path)
		}
	}
}

// over returns the bursts of jobs for which no file is arriving, and those that have lasted too
// long.
func (a *arrivals) over(now time.Time) (reports []report) {
	if len(a.bursts) == 0 {
		return nil
	}
	busy := map[int]bool{}
	for _, f := range a.pending {
		if !f.isOpen && now.Sub(f.changed) < quiet {
			for _, id := range f.ids {
				busy[id] = true
			}
		}
	}
	for id, b := range a.bursts {
		if busy[id] && now.Sub(b.first) < maxBurst {
			continue
		}
		delete(a.bursts, id)
		r := report{ID: id, Paths: slices.Sorted(maps.Keys(b.paths)), More: b.more, Newest: b.newest}
		if r.isBurst() {
			reports = append(reports, r)
		}
	}
	slices.SortFunc(reports, func(x, y report) int { return cmp.Compare(x.ID, y.ID) })
	return reports
}

// merge returns the sorted union of two sorted sets. It changes neither.
func merge(x, y []int) []int {
	switch {
	case len(x) == 0 || slices.Equal(x, y):
		return y
	case len(y) == 0:
		return x
	}
	both := slices.Concat(x, y)
	slices.Sort(both)
	return slices.Compact(both)
}
