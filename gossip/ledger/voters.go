package ledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/gossip/ledger/disk"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

// helloTime limits the time for the answer to a hello that measures the round trip.
const helloTime = time.Second

// hello is a voter's description of itself.
type hello struct {
	incarnation string   // the name of its log
	fresh       bool     // the log is empty, and the voter has not voted
	voters      []string // according to its configuration, by ID
	own         disk.Progress
	yours       disk.Progress // what it remembers of the voter that sent the hello
}

func (h hello) encode() []byte {
	b := wire.AppendBool(wire.AppendText(nil, h.incarnation), h.fresh)
	b = binary.AppendUvarint(b, uint64(len(h.voters)))
	for _, v := range h.voters {
		b = wire.AppendText(b, v)
	}
	return h.yours.AppendTo(h.own.AppendTo(b))
}

// decodeHello reads what encode wrote. It ignores additional bytes, which later versions may write.
func decodeHello(b []byte) (hello, error) {
	r := wire.NewReader(b)
	h := hello{incarnation: r.Text(disk.IncarnationBytes), fresh: r.Bool()}
	r.Check(len(h.incarnation) == disk.IncarnationBytes)
	for range r.Count(mostVoters, 1) {
		h.voters = append(h.voters, r.Member())
	}
	h.own, h.yours = disk.ReadProgress(r), disk.ReadProgress(r)
	return h, r.Err()
}

// serveHello answers a hello, which contains what a voter remembers of this one.
func (l *Ledger) serveHello(_ context.Context, peer string, body []byte) ([]byte, error) {
	v := l.voterNow()
	if v == nil {
		return nil, errStopped
	}
	if v.isVoter(peer) {
		r := wire.NewReader(body)
		seen := disk.ReadProgress(r)
		if r.Err() != nil {
			return nil, r.Err()
		}
		if err := v.checkRestored(peer, seen); err != nil {
			return nil, err
		}
	}
	h := v.hello()
	h.yours = v.disk.Remembered(peer)
	return h.encode(), nil
}

func (v *voter) hello() hello {
	r := v.raft.Load()
	return hello{
		incarnation: v.disk.Incarnation, fresh: r.LastIndex() == 0 && r.CurrentTerm() == 0, voters: v.ledger.voterList(),
		own: v.progress(r),
	}
}

// progress returns the progress of this voter. Stats reads the log before the term is read: if both
// change meanwhile, the result is still not before what other voters have seen.
func (v *voter) progress(r *raft.Raft) disk.Progress {
	stats := r.Stats()
	p := disk.Progress{Incarnation: v.disk.Incarnation, Term: r.CurrentTerm()}
	for _, last := range []string{"last_log_", "last_snapshot_"} {
		term, err := strconv.ParseUint(stats[last+"term"], 10, 64)
		index, err2 := strconv.ParseUint(stats[last+"index"], 10, 64)
		if err != nil || err2 != nil {
			return disk.Progress{} // raft has renamed them: then no log counts as an older copy
		}
		if term == p.Term {
			p.Index = max(p.Index, index)
		}
	}
	return p
}

// checkRestored stops this voter for good if another one has seen it with a greater progress.
func (v *voter) checkRestored(by string, seen disk.Progress) error {
	r := v.raft.Load()
	if r == nil {
		return errStopped // raft is about to start
	}
	own := v.progress(r)
	if seen.Incarnation != own.Incarnation || !own.Before(seen) {
		return nil
	}
	err := v.disk.Reject(fmt.Sprintf("the log is an older copy: it is at term %d, entry %d, but voter %s has seen it at term %d, entry %d; stop cronring, remove %s, start cronring, and see RECOVERY in cronring-ring-setup(7)",
		own.Term, own.Index, by, seen.Term, seen.Index, v.ledger.o.Dir))
	v.fail(err)
	return err
}

// requestHello returns the description of a voter, and remembers its progress. It fails if the log
// of either voter is an older copy.
func (v *voter) requestHello(ctx context.Context, member string) (hello, error) {
	l := v.ledger
	addr, ok := l.o.Addr(member)
	if !ok {
		return hello{}, fmt.Errorf("voter %s is not in the ring now", member)
	}
	b, err := l.o.Link.Ask(ctx, link.Peer{ID: member, Addr: addr}, verbHello, v.disk.Remembered(member).AppendTo(nil))
	if err != nil {
		return hello{}, err
	}
	h, err := decodeHello(b)
	if err != nil {
		return hello{}, fmt.Errorf("read hello of voter %s: %w", member, err)
	}
	v.disk.Remember(member, h.own)
	return h, v.checkRestored(member, h.yours)
}

// maintainVoters makes the next step towards the declared voters, of which hellos has those that
// answer. The first of them begins the log, and the leader makes one change of the log's list.
func (v *voter) maintainVoters(hellos map[string]hello) {
	voters := v.ledger.voterList()
	if v.leads() {
		v.change(hellos, voters)
		return
	}
	if hellos[v.ledger.o.ID] = v.hello(); voters[0] == v.ledger.o.ID && hellos[v.ledger.o.ID].fresh {
		v.begin(hellos, voters)
	}
}

// begin begins the log, once: all voters must answer, with an empty log and the same list of
// voters.
func (v *voter) begin(hellos map[string]hello, voters []string) {
	var c raft.Configuration
	for _, member := range voters {
		h := hellos[member]
		if !h.fresh || !slices.Equal(h.voters, voters) {
			return
		}
		id := server(member, h.incarnation)
		c.Servers = append(c.Servers, raft.Server{ID: id, Address: raft.ServerAddress(id)})
	}
	begun := make(chan error, 1)
	go func() { begun <- v.raft.Load().BootstrapCluster(c).Error() }()
	select {
	case err := <-begun:
		v.ledger.o.Log.Info("began the ledger of the ring", "voters", voters, "error", err)
	case <-v.failed: // raft may have ended while it wrote, without an answer
	}
}

// change makes one change of the log's list of voters, towards the declared one. A voter that
// lost its log is removed, and added again later with its new log. Otherwise voters are added
// before others are removed.
func (v *voter) change(hellos map[string]hello, voters []string) {
	servers := v.servers()
	var gone *raft.Server
	for _, s := range servers {
		h, answers := hellos[memberOf(s.ID)]
		switch {
		case !slices.Contains(voters, memberOf(s.ID)):
			gone = &s
		case answers && h.isOther(s.ID):
			v.remove(s)
			return
		}
	}
	for _, member := range voters {
		h, answers := hellos[member]
		if answers && !slices.ContainsFunc(servers, func(s raft.Server) bool { return memberOf(s.ID) == member }) {
			if v.add(member, h) {
				return
			}
		}
	}
	switch {
	case gone == nil || len(servers) < 2:
	case gone.ID == v.id:
		v.handOver() // the next leader removes this one
	default:
		v.remove(*gone)
	}
}

// isOther reports whether a voter's log is a different one than when it became a voter.
func (h hello) isOther(id raft.ServerID) bool { return server(memberOf(id), h.incarnation) != id }

func (v *voter) remove(s raft.Server) {
	if err := v.raft.Load().RemoveServer(s.ID, 0, changeTime).Error(); err != nil {
		v.ledger.o.Log.Warn("cannot remove a voter", "voter", memberOf(s.ID), "error", err)
		return
	}
	v.ledger.o.Log.Info("removed a voter", "voter", memberOf(s.ID))
}

func (v *voter) add(member string, h hello) bool {
	id := server(member, h.incarnation)
	if err := v.raft.Load().AddVoter(id, raft.ServerAddress(id), 0, changeTime).Error(); err != nil {
		v.ledger.o.Log.Warn("cannot add a voter", "voter", member, "error", err)
		return false
	}
	v.ledger.o.Log.Info("added a voter", "voter", member)
	return true
}
