package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// errRecover stops a voter that restarts as the only one.
var errRecover = errors.New("the ledger is being recovered from this voter's log")

// errBehind is the error of a leader whose log lacks entries with grants: a majority of the
// voters have older copies of their disks.
var errBehind = errors.New("the log lacks entries by which occurrences were granted, as if a voter's disk was put back to an older copy; restore the newer log, or see RECOVERY in cronring-ring-setup(7)")

// noteToken stores a token, if it is the greatest.
func (l *Ledger) noteToken(s newestToken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.token > l.seen.token {
		l.seen = s
	}
}

func (l *Ledger) newestSeen() newestToken {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// checkSeen fails if this leader's log lacks the entry with the greatest token. The entries
// before it may be missing, too.
func (v *voter) checkSeen() error {
	var err error
	if !v.has(v.ledger.newestSeen()) {
		err = errBehind
	}
	v.ledger.mu.Lock()
	known := v.ledger.problem == errBehind
	v.ledger.mu.Unlock()
	if known || err != nil {
		v.ledger.setProblem(err)
	}
	return err
}

// has reports whether the log contains an entry, or contained it before a snapshot.
func (v *voter) has(s newestToken) bool {
	base := v.machine.base()
	if s.token <= base {
		return true // granted before a recovery
	}
	index := s.token - base
	if index > v.raft.Load().LastIndex() {
		return false
	}
	var entry raft.Log
	if v.disk.WAL.GetLog(index, &entry) != nil {
		return true // raft handles entries that cannot be read
	}
	return entry.Term == s.term
}

// Recover makes this voter's log the ledger after most voters have lost theirs. The lost logs
// may have granted any occurrence. Therefore occurrences that are due before now, or within
// about a minute, are refused. Recover fails unless most voters have lost their logs or are no
// longer declared, or this voter leads with a log that lacks entries.
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
		if s.ID == v.id {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, helloTime)
		h, err := v.requestHello(ctx, memberOf(s.ID))
		cancel()
		if !l.declared(memberOf(s.ID)) || err == nil && h.isOther(s.ID) {
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

// recover makes this voter the only one of its log. As the leader it then adds the others.
func (v *voter) recover(c *raft.Config, snapshots raft.SnapshotStore) error {
	if !v.ledger.recovers.CompareAndSwap(true, false) {
		return nil
	}
	if err := v.disk.SetMark(0); err != nil { // a snapshot is about to replace the log
		return err
	}
	fsm := recovery{&machine{fail: func(error) {}, grants: newGrants()}, v.ledger.newestSeen().token}
	self := raft.Configuration{Servers: []raft.Server{{ID: v.id, Address: raft.ServerAddress(v.id)}}}
	if err := raft.RecoverCluster(c, fsm, v.disk, v.disk, snapshots, v.transport, self); err != nil {
		return fmt.Errorf("recover ledger: %w", err)
	}
	v.ledger.o.Log.Warn("recovered the ledger of the ring from this voter's log; other voters are added when they answer")
	return nil
}

// recovery is a machine that recovers its grants when raft takes a snapshot.
type recovery struct {
	*machine
	seen uint64
}

// Snapshot returns a snapshot of the recovered grants.
func (m recovery) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	m.grants.recover(time.Now().UnixNano(), m.seen)
	m.mu.Unlock()
	return m.machine.Snapshot()
}
