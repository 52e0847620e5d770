// Package ledger owns the grants of occurrences in strict mode, which the declared voters of the ring
// replicate with raft over the link: which member was granted which occurrence. An occurrence is
// granted when a majority of the voters has the grant on disk, and then to no second member. A member
// that cannot reach a majority is granted nothing.
//
// Every member can send claims, and can repeat them. Claims that arrive together become one
// entry of the log. A day after it was due, an occurrence is forgotten, and claims for it are
// refused.
//
// A voter is a member together with the log that it had when it became a voter. A member that
// lost its log has forgotten its votes and grants: the leader removes the old voter and adds a new one.
// A voter whose log was restored from an older copy has forgotten some of them, and is rejected: see
// disk.Progress.
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

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/wire"
)

// Verbs of requests over the link.
const (
	verbClaim = "ledger.claim"
	verbHello = "ledger.hello"
)

// Times and limits of claims.
const (
	mostVoters = 7
	claimTime  = 30 * time.Second // at most, with a later deadline of the caller, too
	tryTime    = 5 * time.Second  // for one voter to answer
	lateTime   = time.Second      // after which another one is asked, too

	firstPause    = 20 * time.Millisecond
	lastPause     = 320 * time.Millisecond
	retryInterval = 10 * time.Second // between two starts of a voter that failed
	logInterval   = 10 * time.Minute // between two messages about the same failure
)

// Options configure a ledger.
type Options struct {
	ID      string
	Started uint32   // number of this daemon's start, see memory.NextStart
	Voters  []string // the same on all members, by ID
	Dir     string   // of the log, if this member is a voter, and of nothing else
	Link    *link.Link
	Addr    func(member string) (addr string, ok bool) // returns the address of a member's link
	IsDead  func(member string) bool                   // reports whether a member is known to be dead or to have left
	// GaveUp reports whether a member is known to have given an occurrence up, and in which start.
	GaveUp func(ctx context.Context, member string, o exchange.Occurrence) (started uint32, is bool)
	// Holding returns this member's entry of a job; zero: it has none.
	Holding func(key job.Key) catalog.Holding
	// Foreign reports whether a member that was granted an occurrence for another entry
	// has another job, so that the occurrence does not count here. An error means that
	// this is not known yet.
	Foreign func(ctx context.Context, member string, o exchange.Occurrence) (bool, error)
	// ClockIsSure reports whether most members agree with this host's clock. If it leads, it
	// then rejects claims for occurrences that are not due yet.
	ClockIsSure func() bool
	Log         *slog.Logger
}

// Ledger is this member's client of the ledger, and its voter, if it is one.
type Ledger struct {
	o    Options
	pace pace          // of Run's goroutine, like beat
	beat time.Duration // the heartbeat timeout of raft

	recovers atomic.Bool // the voter restarts as the only one, see Recover

	mu      sync.Mutex
	voters  []string
	voter   *voter // nil: it does not run
	leader  string // according to the last answer, or ""
	problem error  // of this member's voter
	seen    newestToken
	logged  time.Time // the last message about problem
}

// New makes a ledger, and serves requests of other members over the link.
func New(o Options) (*Ledger, error) {
	voters, err := checkVoters(o.Voters)
	if err != nil {
		return nil, err
	}
	l := &Ledger{o: o, voters: voters, pace: pace{}, beat: leastBeat}
	l.o.Link.Handle(verbClaim, l.serveClaim)
	l.o.Link.Handle(verbHello, l.serveHello)
	return l, nil
}

// checkVoters returns the sorted list.
func checkVoters(voters []string) ([]string, error) {
	sorted := slices.Sorted(slices.Values(voters))
	if n := len(sorted); n == 0 || n > mostVoters {
		return nil, fmt.Errorf("the ring has %d voters: expected 1 to %d", n, mostVoters)
	}
	if len(slices.Compact(slices.Clone(sorted))) < len(sorted) {
		return nil, errors.New("the list of voters has a member twice")
	}
	for _, v := range sorted {
		if err := wire.CheckID(v); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// SetVoters replaces the declared voters. The leader changes the log's list one voter at a
// time.
func (l *Ledger) SetVoters(voters []string) error {
	sorted, err := checkVoters(voters)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.voters = sorted
	return nil
}

func (l *Ledger) voterList() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voters
}

func (l *Ledger) declared(member string) bool { return slices.Contains(l.voterList(), member) }

// Run runs this member's voter until the context ends, if the member is declared as a voter. If
// the voter is no longer declared, it continues until the leader removes it from the log's list. A
// leader hands over to another voter before it ends. No goroutine remains when Run returns.
func (l *Ledger) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := maintainInterval
		if l.declared(l.o.ID) {
			err := l.vote(ctx)
			if errors.Is(err, errRecover) || errors.Is(err, errPace) {
				continue
			}
			if l.setProblem(err); err != nil {
				pause = retryInterval
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// setProblem stores why the voter does not work, and logs it.
func (l *Ledger) setProblem(err error) {
	l.mu.Lock()
	now := time.Now()
	report := err != nil && (l.problem == nil || l.problem.Error() != err.Error() || now.Sub(l.logged) >= logInterval)
	l.problem = err
	if report {
		l.logged = now
	}
	l.mu.Unlock()
	if report {
		l.o.Log.Error("the ledger of the ring does not work here: the other voters grant occurrences without this one", "error", err)
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

// Leave hands over to another voter, if this member leads.
func (l *Ledger) Leave() {
	if v := l.voterNow(); v != nil {
		v.handOver()
	}
}

// Status is the ledger as this member sees it.
type Status struct {
	Declared []string // voters, by the configuration
	Voters   []string // according to the log; none if this member is not a voter
	State    string   // of this member's voter, as raft calls it, or ""
	Leader   string   // "" if unknown
	Problem  string   // of this member's voter, or ""
	Index    uint64   // of the newest entry
	Grants   int      // that are not forgotten yet
}

// Status returns the state of the ledger.
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
