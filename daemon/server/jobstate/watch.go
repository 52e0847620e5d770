package jobstate

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/wake"
)

// Watcher receives the jobs that have changed since its last query.
type Watcher struct {
	peer  call.Peer
	Wake  chan struct{} // readable when a job has changed
	dirty map[int]bool
	all   bool // any may have
}

func (m *memory) touch(id job.ID) {
	if m.numbering == nil || len(m.watchers) == 0 {
		return
	}
	slot, ok := m.numbering.View.Find(id)
	if !ok {
		return
	}
	for w := range m.watchers {
		w.dirty[slot] = true
		wake.Up(w.Wake)
	}
}

func (m *memory) touchAll() {
	for w := range m.watchers {
		w.all = true
		wake.Up(w.Wake)
	}
}

// How many boards may be open of users who are not admins: each costs as
// much as the host has jobs.
const (
	nonAdminBoards = 32
	userBoards     = 4
)

// Watch adds a watcher that has everything to read; nil if the user has too many.
func (m *memory) Watch(p call.Peer) *Watcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	if others, own := m.countWatchers(p.LimitKey()); !p.Admin && (others >= nonAdminBoards || own >= userBoards) {
		return nil
	}
	w := &Watcher{peer: p, Wake: make(chan struct{}, 1), dirty: map[int]bool{}, all: true}
	m.watchers[w] = struct{}{}
	return w
}

// countWatchers counts the watchers of users who are not admins, and those of one user.
func (m *memory) countWatchers(key uint32) (all, own int) {
	for w := range m.watchers {
		if !w.peer.Admin {
			all++
		}
		if w.peer.LimitKey() == key {
			own++
		}
	}
	return all, own
}

func (m *memory) Unwatch(w *Watcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watchers, w)
}

// Changed returns the numbers of the jobs that have changed since the last call, or all if any may
// have; they are those of numbering. all is also true if the numbers are no longer valid.
func (m *memory) Changed(w *Watcher, numbering *Numbering) (slots []int, all bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.all || m.numbering != numbering {
		w.all = m.numbering != numbering
		clear(w.dirty)
		return nil, true
	}
	slots = slices.Collect(maps.Keys(w.dirty))
	clear(w.dirty)
	return slots, false
}

// Forget has all count as changed for a watcher, at once.
func (m *memory) Forget(w *Watcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.all = true
	wake.Up(w.Wake)
}
