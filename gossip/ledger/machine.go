package ledger

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// machine is raft's state machine, which holds the grants. After an entry that it cannot apply,
// it grants nothing more.
type machine struct {
	fail func(error)

	mu     sync.Mutex
	grants *grants
	failed error
}

// Apply decides the claims of an entry. It returns [][]result, or an error.
func (m *machine) Apply(l *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	e, err := decodeEntry(l.Data)
	if err != nil {
		m.stop(fmt.Errorf("entry %d: %w", l.Index, err))
		return m.failed
	}
	m.grants.term = l.Term
	return m.grants.apply(l.Index, e)
}

// stop stops the machine. Without an entry that the other voters applied, it would grant
// other occurrences than they do.
func (m *machine) stop(err error) {
	m.failed = err
	m.fail(err)
}

// Snapshot returns a snapshot of the grants.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.failed
	}
	return snapshot{m.grants.freeze()}, nil
}

// Restore replaces the grants by a snapshot. It returns no error, because raft would end the
// process: the machine stops instead.
func (m *machine) Restore(from io.ReadCloser) error {
	g, err := decodeGrants(from)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.stop(err)
		return nil
	}
	m.grants = g
	return nil
}

// err returns why the machine stopped, or nil.
func (m *machine) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// base returns the number that is added to the index of an entry for its token.
func (m *machine) base() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grants.base
}

// figures returns the number of grants.
func (m *machine) figures() (count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grants.count
}

type snapshot struct{ image image }

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.image.encode(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s snapshot) Release() {}
