package ledger

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// machine is the grants as raft's state machine. Once it cannot follow it
// grants nothing any more.
type machine struct {
	fail func(error)

	mu     sync.Mutex
	grants *grants
	lost   error
}

// Apply decides an entry. Its answer is [][]result, or an error.
func (m *machine) Apply(l *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return m.lost
	}
	e, err := decodeEntry(l.Data)
	if err != nil {
		m.lose(fmt.Errorf("entry %d: %w", l.Index, err))
		return m.lost
	}
	m.grants.term = l.Term
	return m.grants.apply(l.Index, e)
}

// lose ends the machine: to go on beside an entry that the others applied would
// be to grant other things than they do.
func (m *machine) lose(err error) {
	m.lost = err
	m.fail(err)
}

// Snapshot is of the grants of this moment.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return nil, m.lost
	}
	return snapshot{m.grants.freeze()}, nil
}

// Restore begins again with a snapshot. Raft ends the process where it hears of
// an error, so it is told to fail instead.
func (m *machine) Restore(from io.ReadCloser) error {
	g, err := decodeGrants(from)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.lose(err)
		return nil
	}
	m.grants = g
	return nil
}

// err says why the machine is lost, if it is.
func (m *machine) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// base is what is added to the index of an entry for its token.
func (m *machine) base() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grants.base
}

// figures says how many grants there are.
func (m *machine) figures() (count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grants.count
}

type snapshot struct{ image image }

// Persist is raft's.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.image.encode(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release is raft's.
func (s snapshot) Release() {}
