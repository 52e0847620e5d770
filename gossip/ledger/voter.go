package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/gossip/ledger/disk"
	"github.com/cronring/cronring/gossip/link"
)

// Times and sizes of raft, where they differ from its defaults. A follower becomes a candidate
// one to two seconds after the last message of the leader.
const (
	rpcBeats         = 3 // heartbeat timeouts for an answer of a voter
	enqueueTime      = time.Second
	gatherTime       = 5 * time.Millisecond // members claim what is due at the same time within milliseconds
	settleTime       = 5 * time.Second
	maintainInterval = 2 * time.Second
	changeTime       = 5 * time.Second // for a change of the list of voters
	snapshotEvery    = 2 * time.Minute
	snapshotAfter    = 4096 // entries
	trailing         = 1024 // entries before a snapshot that are kept for slow voters
	cachedEntries    = 4    // are in memory, because raft reads each one again for each voter
)

// voter is this member's raft server, from opening its log to closing it.
type voter struct {
	ledger    *Ledger
	beat      time.Duration // the heartbeat timeout
	id        raft.ServerID
	disk      *disk.Disk
	machine   *machine
	streams   *streams
	transport transport
	raft      atomic.Pointer[raft.Raft]
	proposals chan *proposal
	stopped   chan struct{} // closed when no more proposals are accepted

	once   sync.Once
	failed chan struct{}
	why    error
}

// fail stops the voter, and stores the first reason. It does not block, because raft calls it.
func (v *voter) fail(err error) {
	v.once.Do(func() {
		v.why = err
		close(v.failed)
	})
}

// vote runs the voter until the context ends, or until it cannot use its disk or log.
func (l *Ledger) vote(ctx context.Context) error {
	v := &voter{ledger: l, beat: l.beat, proposals: make(chan *proposal), stopped: make(chan struct{}), failed: make(chan struct{})}
	if err := v.start(); err != nil {
		return err
	}
	l.setVoter(v)
	var committing sync.WaitGroup
	committing.Go(v.commitAll)
	v.maintain(ctx)
	if ctx.Err() != nil {
		v.handOver()
	}
	l.setVoter(nil)
	close(v.stopped)
	committing.Wait()
	v.stop()
	select {
	case <-v.failed:
		return v.why
	default:
		return nil
	}
}

// start opens the log and starts raft.
func (v *voter) start() error {
	l, logger := v.ledger, newLogger(v.ledger.o.Log)
	var err error
	if v.disk, err = disk.Open(l.o.Dir, logger, v.fail); err != nil {
		return err
	}
	listener, err := l.o.Link.Listen(link.Raft, link.OldRaft)
	if err != nil {
		v.disk.Close()
		return fmt.Errorf("start ledger: %w", err)
	}
	v.id = server(l.o.ID, v.disk.Incarnation)
	v.machine = &machine{fail: v.fail, grants: newGrants()}
	v.streams = newStreams(l, v.id, listener, v.isVoter, func(ctx context.Context, member string) error {
		_, err := v.requestHello(ctx, member)
		return err
	})
	v.transport = transport{interval: v.beat * 2 / 5, begun: time.Now(), over: v.streams.ctx.Done(), disk: v.disk}
	v.transport.NetworkTransport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: v.streams, MaxPool: 2, Timeout: rpcBeats * v.beat, Logger: logger, MsgpackUseNewTimeFormat: true,
		// Without pipelines: if one ends while raft writes to it, the write blocks for ever.
		// Pipelines gain nothing with one pending entry at a time.
		MaxRPCsInFlight: 1,
	})
	if err := v.startRaft(logger); err != nil {
		v.closeStreams()
		v.disk.Close()
		return fmt.Errorf("start ledger: %w", err)
	}
	return nil
}

// newLogger returns raft's logger. The ledger itself logs what it cannot do.
func newLogger(l *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: link.NewLogWriter(l, "raft", ""), DisableTime: true})
}

// startRaft starts raft in a goroutine of its own, because an unreadable log ends the
// goroutine, see exitRaft in package disk.
func (v *voter) startRaft(logger hclog.Logger) error {
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(v.ledger.o.Dir, 1, logger)
	if err != nil {
		return err
	}
	c := raft.DefaultConfig()
	c.LocalID = v.id
	c.Logger = logger
	c.NoLegacyTelemetry = true
	c.ShutdownOnRemove = false
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = v.beat, v.beat, v.beat
	// Raft sends a message at this interval even if there is no new entry. The message contains the newest
	// committed entry, which only the leader uses. It also repeats entries that a connection error lost.
	c.CommitTimeout = v.beat / 2
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = snapshotEvery, snapshotAfter, trailing
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil { // raft panics if the log has a gap
				v.fail(fmt.Errorf("read ledger: %v", p))
			}
		}()
		if err := v.recover(c, snapshots); err != nil {
			v.fail(err)
			return
		}
		newest, _ := raft.NewLogCache(cachedEntries, v.disk) // an error is impossible with a capacity
		r, err := raft.NewRaft(c, v.machine, newest, v.disk, snapshots, v.transport)
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

// maintain updates the list of voters until the context ends or the voter fails.
func (v *voter) maintain(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tick := time.NewTicker(maintainInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			v.maintainVoters(v.greet(ctx))
			v.adapt(ctx)
			v.disk.Mark()
		case <-v.failed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// handOver transfers leadership to another voter, if this one leads. That is faster than an
// election, which begins only when the others miss the leader.
func (v *voter) handOver() {
	if v.leads() {
		v.raft.Load().LeadershipTransfer().Error()
	}
}

// closeStreams closes all connections, and waits until raft no longer uses them.
func (v *voter) closeStreams() {
	v.transport.Close()
	v.streams.closeAll()
	v.streams.served.Wait()
}

// stop ends raft and closes the log. Raft would end the process if it was shut down while it
// installs a snapshot of the leader. Without connections no further snapshot arrives, and an
// answer of the goroutine that installs them shows that the last one is installed.
func (v *voter) stop() {
	v.closeStreams()
	r := v.raft.Load()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		r.BootstrapCluster(raft.Configuration{}).Error() // fails, and is answered by the goroutine that installs snapshots
	}()
	patience := time.NewTimer(settleTime) // raft may have ended already
	select {
	case <-settled:
	case <-patience.C:
	}
	patience.Stop()
	r.Shutdown().Error()
	<-settled
	v.disk.Mark()
	v.disk.Close()
}

func (v *voter) leads() bool { return v.raft.Load().State() == raft.Leader }

// leader returns the leader that this voter knows, or "".
func (v *voter) leader() string {
	_, id := v.raft.Load().LeaderWithID()
	return memberOf(id)
}

// servers returns the voters according to the log.
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

// isVoter reports whether a member may connect to this one's raft.
func (v *voter) isVoter(member string) bool {
	return v.ledger.declared(member) || slices.ContainsFunc(v.servers(), func(s raft.Server) bool { return memberOf(s.ID) == member })
}
