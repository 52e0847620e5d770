package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/gossip/link"
	"github.com/hashicorp/raft"
)

// Times and sizes of raft, beside its own defaults: a follower that hears
// nothing for one to two seconds stands for election.
const (
	rpcTime       = 3 * time.Second
	enqueueTime   = time.Second
	settleTime    = 5 * time.Second
	tendEvery     = 2 * time.Second
	changeTime    = 5 * time.Second // for a change of the voters
	snapshotEvery = 2 * time.Minute
	snapshotAfter = 4096 // entries
	trailing      = 1024 // entries that are kept beside a snapshot, for voters that lag
)

// voter is this member's part in raft, from the opening of its log to the
// closing.
type voter struct {
	ledger    *Ledger
	id        raft.ServerID
	disk      *disk
	machine   *machine
	streams   *streams
	transport *raft.NetworkTransport
	raft      atomic.Pointer[raft.Raft]
	asked     chan *proposal
	stopped   chan struct{} // closed when no proposal is taken any more

	once   sync.Once
	failed chan struct{}
	why    error
}

// fail ends the voter, for the first reason alone. Raft calls it, so it does
// not wait.
func (v *voter) fail(err error) {
	v.once.Do(func() {
		v.why = err
		close(v.failed)
	})
}

// vote takes part until ctx is over, or the disk or the log is of no use.
func (l *Ledger) vote(ctx context.Context) error {
	v := &voter{ledger: l, asked: make(chan *proposal), stopped: make(chan struct{}), failed: make(chan struct{})}
	if err := v.start(); err != nil {
		return err
	}
	l.setVoter(v)
	var folding sync.WaitGroup
	folding.Go(v.fold)
	v.tend(ctx)
	if ctx.Err() != nil {
		v.handOver()
	}
	l.setVoter(nil)
	close(v.stopped)
	folding.Wait()
	v.stop()
	select {
	case <-v.failed:
		return v.why
	default:
		return nil
	}
}

// start opens the log and begins raft.
func (v *voter) start() error {
	l, chatter := v.ledger, newChatter(v.ledger.log)
	var err error
	if v.disk, err = openDisk(l.dir, chatter, v.fail); err != nil {
		return err
	}
	listener, err := l.link.Listen(link.Raft)
	if err != nil {
		v.disk.Close()
		return fmt.Errorf("start ledger: %w", err)
	}
	v.id = server(l.id, v.disk.incarnation)
	v.machine = &machine{fail: v.fail, grants: newGrants()}
	v.streams = newStreams(l, v.id, listener, v.isVoter)
	v.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: v.streams, MaxPool: 2, Timeout: rpcTime, Logger: chatter, MsgpackUseNewTimeFormat: true,
		// No pipelines: one that ends while raft writes to it hangs until the
		// process does, and with one entry under way at a time there is nothing
		// to gain.
		MaxRPCsInFlight: 1,
	})
	if err := v.startRaft(chatter); err != nil {
		v.hangUp()
		v.disk.Close()
		return fmt.Errorf("start ledger: %w", err)
	}
	return nil
}

// startRaft begins raft in a goroutine of its own, which ends early where the
// log cannot be read.
func (v *voter) startRaft(chatter *chatter) error {
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(v.ledger.dir, 1, chatter)
	if err != nil {
		return err
	}
	c := raft.DefaultConfig()
	c.LocalID = v.id
	c.Logger = chatter
	c.NoLegacyTelemetry = true
	c.ShutdownOnRemove = false
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = snapshotEvery, snapshotAfter, trailing
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil { // raft's way to say that the log has a gap
				v.fail(fmt.Errorf("read ledger: %v", p))
			}
		}()
		if err := v.recover(c, snapshots); err != nil {
			v.fail(err)
			return
		}
		r, err := raft.NewRaft(c, v.machine, v.disk, v.disk, snapshots, v.transport)
		if err != nil {
			v.fail(err)
			return
		}
		v.raft.Store(r)
	}()
	<-done
	if v.raft.Load() == nil {
		return v.why
	}
	if err := v.machine.err(); err != nil {
		v.raft.Load().Shutdown().Error()
		return err
	}
	return nil
}

// tend sees to the list of voters until ctx is over or the voter failed.
func (v *voter) tend(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			v.tendVoters(ctx)
			v.disk.mark()
		case <-v.failed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// handOver lets another voter lead, if this one does, without an election that
// waits for this one to be missed.
func (v *voter) handOver() {
	if v.leads() {
		v.raft.Load().LeadershipTransfer().Error()
	}
}

// hangUp ends all connections and waits until raft has let go of them.
func (v *voter) hangUp() {
	v.transport.Close()
	v.streams.cutAll()
	v.streams.served.Wait()
}

// stop ends raft and closes the log. Raft must not be told to end while it
// takes a snapshot over from the leader, as it would end the process: without
// connections no other one comes, and when it answers it is done with the last.
func (v *voter) stop() {
	v.hangUp()
	r := v.raft.Load()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		r.BootstrapCluster(raft.Configuration{}).Error() // refused, by the goroutine that takes snapshots over
	}()
	patience := time.NewTimer(settleTime) // there may be no such goroutine left
	select {
	case <-settled:
	case <-patience.C:
	}
	patience.Stop()
	r.Shutdown().Error()
	<-settled
	v.disk.mark()
	v.disk.Close()
}

func (v *voter) leads() bool { return v.raft.Load().State() == raft.Leader }

// leader is the member that leads, as far as this voter knows, or "".
func (v *voter) leader() string {
	_, id := v.raft.Load().LeaderWithID()
	return memberOf(id)
}

// servers is the voters as the log has them.
func (v *voter) servers() []raft.Server {
	r := v.raft.Load()
	if r == nil {
		return nil
	}
	f := r.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// isVoter says whether a member may speak to this one's raft.
func (v *voter) isVoter(member string) bool {
	return v.ledger.declared(member) || slices.ContainsFunc(v.servers(), func(s raft.Server) bool { return memberOf(s.ID) == member })
}
