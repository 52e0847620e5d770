package watchfiles

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/wake"
)

// Watch describes the files that one job waits for.
type Watch struct {
	Job   job.Owned
	Globs []string  // absolute paths; each element can have wildcards, see checkGlob
	Since time.Time // files whose ctime is later have arrived
}

// Burst contains the files that have arrived for a job.
type Burst struct {
	Job    job.Owned
	Paths  []string  // sorted; at most maxPaths, with maxPathBytes together
	More   int       // files that are not in Paths, because of these limits or of their names
	Newest time.Time // the latest ctime, which becomes Since after a restart; never in the future
}

// Options are the functions of the daemon that a Watcher calls.
type Options struct {
	Find func(ctx context.Context, user string) (account.Account, error)
	Exec func(ctx context.Context, t spawn.Tool) (spawn.Result, error)
	// Deliver receives a burst and reports whether it accepted it. It may wait until ctx is done;
	// meanwhile, further bursts of the same user wait.
	Deliver func(ctx context.Context, b Burst) bool
	AsSelf  bool          // all processes run as the daemon's own user
	Pause   time.Duration // before a process is started again, the first time; 0: a second
}

// maxGlobs is the highest number of globs of a user.
const maxGlobs = 1000

// Watcher watches the files of all users, through their processes. Its methods may be called from any
// goroutine, and do not wait for a user's process.
type Watcher struct {
	options Options
	changed chan struct{}                      // Set was called
	wanted  atomic.Pointer[map[string][]Watch] // by Set; nil: it is done

	mu    sync.Mutex
	users map[string]*process
	next  time.Time // when the next process may be started
}

// New returns a Watcher.
func New(options Options) *Watcher {
	if options.Pause == 0 {
		options.Pause = time.Second
	}
	return &Watcher{options: options, changed: make(chan struct{}, 1), users: map[string]*process{}}
}

// Set replaces what is watched, by user, and keeps the map. For a job whose globs do not change, Since
// has no effect until the user's process is started again. Set only passes this to Run, because its
// caller is the goroutine on which all starts depend.
func (w *Watcher) Set(all map[string][]Watch) {
	w.wanted.Store(&all)
	wake.Up(w.changed)
}

// replace does what Set requested.
func (w *Watcher) replace() {
	all := w.wanted.Swap(nil)
	if all == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for user, watches := range *all {
		if w.users[user] == nil && len(watches) > 0 {
			w.users[user] = newProcess(w, user)
		}
	}
	for user, p := range w.users {
		p.replace((*all)[user])
	}
}

// Faults returns why files of jobs cannot be watched now.
func (w *Watcher) Faults() map[job.Owned]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[job.Owned]string{}
	for _, p := range w.users {
		maps.Copy(all, p.faults(time.Now()))
	}
	return all
}

// Run starts and serves the processes until ctx is done. Then it kills them, and returns without
// waiting for their end.
func (w *Watcher) Run(ctx context.Context) error {
	var processes sync.WaitGroup
	defer processes.Wait()
	for {
		w.replace()
		for _, p := range w.unserved() {
			processes.Go(func() { p.run(ctx) })
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// unserved returns the processes without a goroutine, and marks them as served.
func (w *Watcher) unserved() (fresh []*process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, user := range slices.Sorted(maps.Keys(w.users)) {
		if p := w.users[user]; !p.served {
			p.served = true
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// startInterval is the time between the starts of two processes, so that the processes of many users
// do not delay the runs of jobs.
const startInterval = 20 * time.Millisecond

// awaitStart waits until a process may be started.
func (w *Watcher) awaitStart(ctx context.Context) {
	w.mu.Lock()
	now := time.Now()
	turn := w.next
	if turn.Before(now) {
		turn = now
	}
	w.next = turn.Add(startInterval)
	w.mu.Unlock()
	_ = wake.Sleep(ctx, turn.Sub(now))
}

// limitGlobs returns why the globs of a job cannot be watched, or "". count is the number of the
// user's globs before it.
func limitGlobs(globs []string, count int) string {
	for _, glob := range globs {
		if err := checkGlob(glob); err != nil {
			return err.Error()
		}
	}
	if count+len(globs) > maxGlobs {
		return fmt.Sprintf("the jobs of the user have more than %d patterns in on=file:", maxGlobs)
	}
	return ""
}
