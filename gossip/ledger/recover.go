package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/daemon/engine"
)

// errRecover ends a voter that starts again as the only one.
var errRecover = errors.New("the ledger is being recovered from this voter's log")

// errBehind is the error of a leader whose log lacks entries by which members were granted
// occurrences: the disks of a majority of the voters are older copies.
var errBehind = errors.New("the log lacks entries by which occurrences were granted, as if a voter's disk was put back to an older copy; restore the newer log, or see RECOVERY in cronring-ring(7)")

// seen is the greatest token that a member was granted, as far as is known.
type seen struct {
	token uint64
	term  uint64 // of raft, of the entry that granted it
}

func (s seen) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.token), s.term)
}

// see notes a token.
func (l *Ledger) see(s seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.token > l.seen.token {
		l.seen = s
	}
}

func (l *Ledger) newestSeen() seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// checkSeen fails if this voter, which leads, does not have the entry that granted the
// greatest token. Whatever was granted by the entries before it may be missing, too.
func (v *voter) checkSeen() error {
	var err error
	if !v.has(v.ledger.newestSeen()) {
		err = errBehind
	}
	v.ledger.mu.Lock()
	known := v.ledger.problem == errBehind
	v.ledger.mu.Unlock()
	if known || err != nil {
		v.ledger.note(err)
	}
	return err
}

// has reports whether the log has an entry, or had it before a snapshot.
func (v *voter) has(s seen) bool {
	base := v.machine.base()
	if s.token <= base {
		return true // it was granted before a recovery
	}
	index := s.token - base
	if index > v.raft.Load().LastIndex() {
		return false
	}
	var entry raft.Log
	if v.disk.WAL.GetLog(index, &entry) != nil {
		return true // raft sees to entries that cannot be read
	}
	return entry.Term == s.term
}

// Recover makes this voter's log the ledger after most voters have lost theirs. Nobody
// knows what those had granted, so nothing is granted that is due before then or within about a
// minute. It fails unless most of the voters have lost their logs, as far as they answer or are not
// declared any more, or this voter leads with a log that lacks entries.
func (l *Ledger) Recover(ctx context.Context) error {
	v := l.voterNow()
	if v == nil {
		return errors.New("this host is not a voter, or its ledger does not work: do this on a voter that has its log")
	}
	if v.leads() && v.checkSeen() != nil {
		_, err := v.apply(entry{time: time.Now().UnixNano(), base: l.newestSeen().token})
		return err
	}
	servers, lost := v.servers(), 0
	if len(servers) == 0 {
		return errors.New("this voter has no log: do this on a voter that has its log; if all have lost theirs, they begin a new one by themselves")
	}
	for _, s := range servers {
		if s.ID != v.id && (!l.declared(memberOf(s.ID)) || v.replaced(ctx, s.ID)) {
			lost++
		}
	}
	if left := len(servers) - lost; left > len(servers)/2 {
		return fmt.Errorf("%d of %d voters still have their logs, or do not answer: start cronring on them; a host that is gone for good has to be replaced in ring.voters on all members first", left, len(servers))
	}
	l.recovers.Store(true)
	v.fail(errRecover)
	return nil
}

// recover makes a log's voters this one alone. Who leads then takes the others in.
func (v *voter) recover(c *raft.Config, snapshots raft.SnapshotStore) error {
	if !v.ledger.recovers.CompareAndSwap(true, false) {
		return nil
	}
	if err := v.disk.setMark(0); err != nil { // the log is about to be replaced by a snapshot
		return err
	}
	fsm := recovery{&machine{fail: func(error) {}, grants: newGrants()}, v.ledger.newestSeen().token}
	self := raft.Configuration{Servers: []raft.Server{{ID: v.id, Address: raft.ServerAddress(v.id)}}}
	if err := raft.RecoverCluster(c, fsm, v.disk, v.disk, snapshots, v.transport, self); err != nil {
		return fmt.Errorf("recover ledger: %w", err)
	}
	v.ledger.log.Warn("recovered the ledger of the ring from this voter's log; other voters are taken in as they answer")
	return nil
}

// recover refuses what may have been granted by entries that are lost, and has the next
// tokens be greater than theirs.
func (g *grants) recover(now int64, token uint64) {
	g.floor = max(g.floor, minuteOf(now+int64(recoverMargin)))
	g.base = max(g.base, token)
}

// recoverMargin is how far ahead occurrences are refused after a recovery, down to the
// full minute: what is due sooner than clocks may differ may have been granted before.
const recoverMargin = time.Minute + 2*engine.MaxSkew

// recovery is a machine whose snapshot is of recovered grants.
type recovery struct {
	*machine
	seen uint64
}

// Snapshot is of the grants of this moment.
func (m recovery) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	m.grants.recover(time.Now().UnixNano(), m.seen)
	m.mu.Unlock()
	return m.machine.Snapshot()
}
