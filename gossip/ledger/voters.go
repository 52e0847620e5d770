package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
	"github.com/hashicorp/raft"
)

// helloTime is what a voter has to say who it is.
const helloTime = time.Second

// hello is what a voter says of itself.
type hello struct {
	Incarnation string   // of its log
	Fresh       bool     // nothing is in it, and it has voted for nobody
	Voters      []string // as its configuration has them, by ID
}

// sayHello answers one.
func (l *Ledger) sayHello(context.Context, string, []byte) ([]byte, error) {
	v := l.voterNow()
	if v == nil {
		return nil, errStopped
	}
	return json.Marshal(v.hello())
}

func (v *voter) hello() hello {
	r := v.raft.Load()
	return hello{v.disk.incarnation, r.LastIndex() == 0 && r.CurrentTerm() == 0, v.ledger.voterList()}
}

// askHello asks a voter who it is.
func (l *Ledger) askHello(ctx context.Context, member string) (hello, error) {
	addr, ok := l.addr(member)
	if !ok {
		return hello{}, fmt.Errorf("voter %s is not in sight", member)
	}
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	b, err := l.link.Ask(ctx, link.Peer{ID: member, Addr: addr}, verbHello, nil)
	if err != nil {
		return hello{}, err
	}
	var h hello
	if err := json.Unmarshal(b, &h); err != nil || len(h.Incarnation) != incarnationBytes {
		return hello{}, fmt.Errorf("read hello of voter %s: %w", member, wire.ErrMalformed)
	}
	return h, nil
}

// tendVoters takes the next step towards the voters that are declared: the
// first of them begins the log, and who leads makes one change of it.
func (v *voter) tendVoters(ctx context.Context) {
	voters := v.ledger.voterList()
	if v.leads() {
		v.change(ctx, voters)
		return
	}
	if len(voters) > 0 && voters[0] == v.ledger.id && v.hello().Fresh {
		v.begin(ctx, voters)
	}
}

// begin begins the log. It is done once: all voters have to be there, without
// one of them knowing of a log already, and with the same list.
func (v *voter) begin(ctx context.Context, voters []string) {
	var c raft.Configuration
	for _, member := range voters {
		h := v.hello()
		if member != v.ledger.id {
			var err error
			if h, err = v.ledger.askHello(ctx, member); err != nil {
				return
			}
		}
		if !h.Fresh || !slices.Equal(h.Voters, voters) {
			return
		}
		id := server(member, h.Incarnation)
		c.Servers = append(c.Servers, raft.Server{ID: id, Address: raft.ServerAddress(id)})
	}
	begun := make(chan error, 1)
	go func() { begun <- v.raft.Load().BootstrapCluster(c).Error() }()
	select {
	case err := <-begun:
		v.ledger.log.Info("began the ledger of the ring", "voters", voters, "error", err)
	case <-v.failed: // raft may have ended where it wrote, without an answer
	}
}

// change brings the log's list of voters one step nearer to the declared one. A
// voter that has lost its log leaves the list before it comes back to it with
// the new one; others come before others go.
func (v *voter) change(ctx context.Context, voters []string) {
	servers := v.servers()
	var gone *raft.Server
	for _, s := range servers {
		switch {
		case !slices.Contains(voters, memberOf(s.ID)):
			gone = &s
		case s.ID != v.id && v.replaced(ctx, s.ID):
			v.remove(s)
			return
		}
	}
	for _, member := range voters {
		if !slices.ContainsFunc(servers, func(s raft.Server) bool { return memberOf(s.ID) == member }) {
			if v.add(ctx, member) {
				return
			}
		}
	}
	switch {
	case gone == nil || len(servers) < 2:
	case gone.ID == v.id:
		v.handOver() // the next leader lets this one go
	default:
		v.remove(*gone)
	}
}

// replaced says whether a voter has another log than when it became one.
func (v *voter) replaced(ctx context.Context, id raft.ServerID) bool {
	h, err := v.ledger.askHello(ctx, memberOf(id))
	return err == nil && server(memberOf(id), h.Incarnation) != id
}

func (v *voter) remove(s raft.Server) {
	if err := v.raft.Load().RemoveServer(s.ID, 0, changeTime).Error(); err != nil {
		v.ledger.log.Warn("cannot let a voter go", "voter", memberOf(s.ID), "error", err)
		return
	}
	v.ledger.log.Info("let a voter go", "voter", memberOf(s.ID))
}

// add takes a voter in, if it is there.
func (v *voter) add(ctx context.Context, member string) bool {
	h, err := v.ledger.askHello(ctx, member)
	if err != nil {
		return false
	}
	id := server(member, h.Incarnation)
	if err := v.raft.Load().AddVoter(id, raft.ServerAddress(id), 0, changeTime).Error(); err != nil {
		v.ledger.log.Warn("cannot take a voter in", "voter", member, "error", err)
		return false
	}
	v.ledger.log.Info("took a voter in", "voter", member)
	return true
}
