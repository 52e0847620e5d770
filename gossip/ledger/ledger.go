// Package ledger owns which member of a ring was granted which occurrence, in
// strict mode: a map that is written once, which the declared voters keep by
// raft over the link. What a majority of them has on disk is granted; whoever
// cannot reach a majority is granted nothing.
//
// Any member claims: the claims of all that come together are one entry of the
// log, and a claim may be sent again as often as one likes. What is older than
// a day past due is forgotten, and refused from then on.
//
// A voter is a member with the log that it had when it became one. One that
// lost its log has forgotten what it promised: the leader takes it in anew.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

// Verbs of the link.
const (
	verbClaim = "ledger.claim"
	verbHello = "ledger.hello"
)

// Times and bounds of the asking side.
const (
	mostVoters = 7
	claimTime  = 30 * time.Second // at most, whatever the caller's deadline
	tryTime    = time.Second      // for one voter to answer
	firstPause = 20 * time.Millisecond
	lastPause  = 320 * time.Millisecond
	retryEvery = 10 * time.Second // that a voter that failed is tried again
	tellEvery  = 10 * time.Minute // that the same failure is logged again
)

// Options is what a ledger needs.
type Options struct {
	ID     string
	Voters []string // the same on all members, by ID
	Dir    string   // of this ledger alone: the log, if this member is a voter
	Link   *link.Link
	Addr   func(member string) (addr string, ok bool) // where a member's link is
	Gone   func(member string) bool                   // whether this member sees that another one is dead or has left
	// Holding returns this member's entry of a job; zero: it has none.
	Holding func(key job.Key) engine.Holding
	// Foreign reports whether a member that was granted an occurrence for another entry
	// has another job, so that the occurrence does not count here. An error means that
	// this is not known yet.
	Foreign func(ctx context.Context, member string, o engine.Occurrence) (bool, error)
	// ClockIsSure reports whether most members agree with this host's clock. If it leads, it
	// then rejects claims for occurrences that are not due yet.
	ClockIsSure func() bool
	Log         *slog.Logger // nil: slog.Default()
}

// Ledger is this member's way to the ledger, and its part in it if it is a
// voter.
type Ledger struct {
	id   string
	dir  string
	link *link.Link
	addr func(string) (string, bool)
	gone func(string) bool
	log  *slog.Logger

	holding func(job.Key) engine.Holding
	foreign func(context.Context, string, engine.Occurrence) (bool, error)

	clockIsSure func() bool

	recovers atomic.Bool // the voter starts again as the only one; see Recover

	mu      sync.Mutex
	voters  []string
	changed chan struct{} // closed, and replaced, when the voters change
	voter   *voter        // nil: there is none now
	leader  string        // who led when it was last heard, or ""
	problem error         // why this member's voter does not work
	seen    seen
	told    time.Time // when that was logged
}

// New makes a ledger and lets other members ask it over the link.
func New(o Options) (*Ledger, error) {
	voters, err := checkVoters(o.Voters)
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		id: o.ID, dir: o.Dir, link: o.Link, addr: o.Addr, gone: o.Gone, log: o.Log,
		holding: o.Holding, foreign: o.Foreign, clockIsSure: o.ClockIsSure, voters: voters, changed: make(chan struct{}),
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	l.link.Handle(verbClaim, l.serveClaim)
	l.link.Handle(verbHello, l.sayHello)
	return l, nil
}

// checkVoters returns the list in order.
func checkVoters(voters []string) ([]string, error) {
	sorted := slices.Sorted(slices.Values(voters))
	if n := len(sorted); n == 0 || n > mostVoters {
		return nil, fmt.Errorf("the ring has %d voters, wants 1 to %d", n, mostVoters)
	}
	if len(slices.Compact(slices.Clone(sorted))) < len(sorted) {
		return nil, fmt.Errorf("a voter is named twice")
	}
	for _, v := range sorted {
		if err := wire.CheckID(v); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// SetVoters replaces the declared voters. Who leads brings the change about,
// one voter at a time.
func (l *Ledger) SetVoters(voters []string) error {
	sorted, err := checkVoters(voters)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.voters = sorted
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

func (l *Ledger) voterList() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voters
}

func (l *Ledger) declared(member string) bool { return slices.Contains(l.voterList(), member) }

// Run does this member's part until ctx is over: if it is a voter, it votes,
// and goes on voting when it is no longer declared, as who leads then is the
// one who lets it go. Before it ends it lets another voter lead. No goroutine is
// left when it returns.
func (l *Ledger) Run(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		changed := l.changed
		l.mu.Unlock()
		if !l.declared(l.id) {
			l.wait(ctx, changed, 0)
			continue
		}
		err := l.vote(ctx)
		if errors.Is(err, errRecover) {
			continue
		}
		l.note(err)
		if err != nil {
			l.wait(ctx, changed, retryEvery)
		}
	}
}

func (l *Ledger) wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	var after <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-after:
	}
}

// note keeps, and says, why the voter does not work.
func (l *Ledger) note(err error) {
	l.mu.Lock()
	now := time.Now()
	tell := err != nil && (l.problem == nil || l.problem.Error() != err.Error() || now.Sub(l.told) >= tellEvery)
	l.problem = err
	if tell {
		l.told = now
	}
	l.mu.Unlock()
	if tell {
		l.log.Error("the ledger of the ring does not work here: the other voters grant occurrences without this one", "error", err)
	}
}

func (l *Ledger) setVoter(v *voter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.voter = v
	if v != nil {
		l.problem = nil
	}
}

func (l *Ledger) voterNow() *voter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voter
}

// Leave lets another voter lead, if this member does: it is about to go.
func (l *Ledger) Leave() {
	if v := l.voterNow(); v != nil {
		v.handOver()
	}
}

// Status is the ledger as this member sees it.
type Status struct {
	Declared []string // voters, by the configuration
	Voters   []string // by the log; none where this member is no voter
	State    string   // of this member: "", or raft's word for a voter's
	Leader   string   // "" if none is known
	Problem  string   // why this member's voter does not work, or ""
	Index    uint64   // of the newest entry here
	Grants   int      // that are remembered here
}

// Status returns it.
func (l *Ledger) Status() Status {
	l.mu.Lock()
	s, v := Status{Declared: l.voters, Leader: l.leader}, l.voter
	if l.problem != nil {
		s.Problem = l.problem.Error()
	}
	l.mu.Unlock()
	if v == nil {
		return s
	}
	r := v.raft.Load()
	s.State, s.Leader, s.Index, s.Grants = r.State().String(), v.leader(), r.LastIndex(), v.machine.figures()
	for _, server := range v.servers() {
		s.Voters = append(s.Voters, memberOf(server.ID))
	}
	return s
}

// claimOf returns the claim of an occurrence for this member's entry.
func (l *Ledger) claimOf(o engine.Occurrence) claim {
	h := l.holding(o.Key)
	return claim{occurrence: occurrence{o.Key, o.Due.UnixNano()}, entry: h.Hash, former: h.Former}
}
