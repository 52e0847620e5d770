package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/clocks"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/keys"
	"github.com/cronring/cronring/gossip/memory"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/roster"
	"github.com/cronring/cronring/gossip/search"
)

// Settle is how long a member that is drained or about to leave still claims the occurrences
// that it owns. Meanwhile the others are informed.
const Settle = 2 * time.Second

// Times of a Ring.
const (
	joinWait      = 5 * time.Second // how long this member waits for most members before it takes part without them
	stallTime     = 4 * time.Second // time without a tick after which this member counts as having been away
	bindAgain     = 5 * time.Second
	conflictTime  = 2 * time.Minute
	reclaimTime   = 10 * time.Second // after this time a dead member may come back at another address
	deadMemberTTL = 24 * time.Hour   // how long dead members stay visible
	newestTime    = 10 * time.Second // between two writes of the newest occurrences to disk
)

// Ring is this host's membership in a ring.
type Ring struct {
	o       Options
	box     *inbox.Inbox
	events  chan holders.Event
	control chan func()
	running chan struct{} // closed when Run returns
	started atomic.Bool   // Run was called
	published

	// Only Run's goroutine uses the remaining fields.
	ctx     context.Context
	helpers sync.WaitGroup
	list    *memberlist.Memberlist // nil: this host is not in a ring
	reports *inbox.Reports         // of list
	keyring *memberlist.Keyring
	keys    [][]byte
	self    netip.AddrPort
	problem string    // why this host could not join the ring, or ""
	again   time.Time // when to bind again
	own     meta.Meta
	members map[string]*member
	joinAt  time.Time // when a member last joined, or was back
	asks    int       // requests for rosters under way
	stage   lifecycle
	fitness eligibility
	clock   clocks.Check
	search  *search.Search
	views   views
	table   *holders.Table
	parked  parked
	spread  spread
	catchUp catchUp
	outbox  unsentEvents
}

// published is read by other goroutines.
type published struct {
	meta    atomic.Pointer[[]byte] // the encoded meta
	state   atomic.Pointer[[]byte] // the marks for push/pulls
	roster  atomic.Pointer[roster.Roster]
	view    atomic.Pointer[Snapshot]
	load    atomic.Uint32
	viewSum atomic.Uint64 // digest of the members that it sees
	sure    atomic.Bool   // most members agree with this host's clock

	elsewhere sync.Map // of the jobs of this host that others took: the newest elsewhere, by job.Key
}

// elsewhere is an occurrence that another member took.
type elsewhere struct {
	due  int64
	host string
}

// New makes a Ring. It opens nothing before Run.
func New(o Options) (*Ring, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Up == nil {
		begun := time.Now()
		o.Up = func() time.Duration { return time.Since(begun) }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("join ring %s: %w", o.Ring, err)
	}
	r := &Ring{
		o: o, box: inbox.New(o.ID, o.Now), keys: o.Keys,
		events: make(chan holders.Event, 64), control: make(chan func()), running: make(chan struct{}),
		members: make(map[string]*member),
		spread:  spread{marks: make(map[exchange.Occurrence]holders.Mark)},
	}
	r.search = r.newSearch()
	limits := holders.DefaultLimits
	limits.Owner = func(key job.Key) string {
		held, _ := r.roster.Load().Find(key)
		return held.Owner
	}
	r.table = holders.New(o.ID, limits)
	r.table.Started = o.Started
	r.own = meta.Meta{
		Name: o.Name, Version: o.Version, Weight: o.Weight,
		Labels: o.Labels, Keys: keys.Fingerprints(o.Keys), Rules: o.Rules,
	}
	r.setRoster(roster.New(nil))
	r.state.Store(new([]byte))
	r.viewSum.Store(viewSumOf(o.ID))
	r.view.Store(&Snapshot{Ring: o.Ring, Self: o.ID})
	o.Link.Handle(verbRoster, r.answerRoster)
	o.Link.Handle(verbHello, r.answerHello)
	o.Link.Handle(verbClaim, r.answerClaim)
	o.Link.Handle(verbConfirm, r.answerConfirm)
	o.Link.Handle(verbDoubles, r.answerDoubles)
	o.Link.Handle(verbMarks, r.answerMarks)
	o.Link.Handle(verbNewest, r.answerNewest)
	return r, nil
}

// Events returns the channel of events for the engine. A slow reader delays only these events.
func (r *Ring) Events() <-chan holders.Event { return r.events }

// Snapshot returns the current state of the ring, or the last one before Run ended.
func (r *Ring) Snapshot() *Snapshot {
	if r.started.Load() {
		_ = r.do(context.Background(), func() error { // on error the last one remains
			r.view.Store(r.snapshot())
			return nil
		})
	}
	return r.view.Load()
}

// Take carries out effects of the engine. The results of claims are events. A daemon also uses
// it to report its runs of the last day when it starts.
func (r *Ring) Take(effects ...holders.Effect) {
	r.box.Put(func(c *inbox.Contents) { c.Effects = append(c.Effects, effects...) })
}

// SetLoad sets the number of runs on this host. Members report it in their answers to probes. It
// is only displayed.
func (r *Ring) SetLoad(runs int) { r.load.Store(uint32(runs)) }

// ErrNoRing is returned by operations that require membership in a ring.
var ErrNoRing = errors.New("this host is in no ring")

// errOver is returned by operations on a Ring whose Run has returned.
var errOver = errors.New("this host's part in the ring is over")

// do runs f on Run's goroutine, and waits for it.
func (r *Ring) do(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	select {
	case r.control <- func() { done <- f() }:
		return <-done
	case <-r.running:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alive returns the other live members.
func (r *Ring) alive() []*member {
	var there []*member
	for _, m := range r.members {
		if m.state == Alive {
			there = append(there, m)
		}
	}
	slices.SortFunc(there, func(a, b *member) int { return strings.Compare(a.id, b.id) })
	return there
}

// Run takes part in the ring until ctx is done. It must not be called twice. When it returns,
// all its goroutines have ended. A probe of memberlist that is still under way ends by itself
// within a few seconds, and has no effect.
func (r *Ring) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		r.stop()
		r.helpers.Wait()
		if m := r.changedNewest(); m != nil {
			r.newestSaved(memory.RememberNewest(r.o.Dir, m))
		}
		r.view.Store(r.snapshot())
		close(r.running)
	}()
	r.ctx = ctx
	r.own.Stamp = r.search.Recall(r.o.ID)
	r.recallNewest()
	r.enter()
	r.started.Store(true)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	r.outbox.timer = time.NewTimer(0)
	defer r.outbox.timer.Stop()
	for {
		r.reportMembership()
		var send chan<- holders.Event
		var next holders.Event
		if len(r.outbox.queue) > 0 {
			send, next = r.events, r.outbox.queue[0]
		}
		select {
		case <-ctx.Done():
			return
		case <-r.box.Signal:
			r.process(r.box.Take())
		case f := <-r.control:
			f()
		case <-ticker.C:
			r.tick()
		case <-r.outbox.timer.C:
		case send <- next:
			r.outbox.queue = r.outbox.queue[1:]
		}
	}
}

// help runs f, which may block, in a separate goroutine. The function that f returns then runs on
// Run's goroutine.
func (r *Ring) help(f func(ctx context.Context) func()) {
	ctx := r.ctx
	r.helpers.Go(func() {
		if then := f(ctx); then != nil {
			r.box.Post(then)
		}
	})
}

// after calls do on Run's goroutine when wait has passed.
func (r *Ring) after(wait time.Duration, do func()) {
	r.help(func(ctx context.Context) func() {
		select {
		case <-time.After(wait):
			return do
		case <-ctx.Done():
			return nil
		}
	})
}

// process processes the contents of the inbox.
func (r *Ring) process(c inbox.Contents) {
	for _, x := range c.Conflicts {
		r.conflict(x)
	}
	for id, u := range c.Updates {
		if id != r.o.ID && r.list != nil {
			r.updateMember(id, u)
		}
	}
	for id, s := range c.Samples {
		if m := r.members[id]; m != nil {
			m.samples.Add(s)
			r.compareViews(m, s.ViewSum)
		}
	}
	for id, addr := range c.Returning {
		r.check(id, addr)
	}
	if c.Stamp.After(r.own.Stamp) {
		r.own.Stamp = c.Stamp // this host's clock was ahead once
		r.publish()
	}
	claims := r.carryOut(c.Effects) // before the marks of others about this member
	r.receiveMarks(c.Marks)
	r.claim(claims)
	for _, f := range c.Done {
		f()
	}
}

// carryOut carries out effects of the engine, apart from claims, which it returns.
func (r *Ring) carryOut(effects []holders.Effect) (claims []holders.Claim) {
	var given []holders.Mark
	for _, e := range effects {
		switch e := e.(type) {
		case holders.Holdings:
			r.hold(e.Holdings)
		case exchange.Progress:
			if m := r.progress(e); e.GivenUp {
				given = append(given, m)
			}
		case holders.Claim:
			claims = append(claims, e)
		case holders.Unstarted:
			if r.stage.exit == departing {
				r.broadcastFinal(e)
				given = nil // the final state contains them
			}
		}
	}
	r.insist(given)
	return claims
}

// progress records this member's progress, and announces it.
func (r *Ring) progress(p exchange.Progress) holders.Mark {
	m, news := r.table.Progress(p, r.o.Now())
	r.announce(m)
	r.report(news)
	return m
}

// tick does the periodic work.
func (r *Ring) tick() {
	now := r.o.Now()
	if gap := r.watchClock(); gap > stallTime && r.stage.entry == joined {
		r.o.Log.Warn("ring: this host was away, and comes back", "away", gap)
	}
	if r.list == nil && !r.again.IsZero() && !now.Before(r.again) {
		r.enter()
	}
	if r.list != nil {
		r.judge()
		r.search.Discover()
		for _, m := range r.alive() {
			r.compare(m)
		}
		r.unpark()
		r.sendUnconfirmed()
	}
	r.search.Save(r.own.Stamp)
	r.saveNewest(now)
	r.renew(now)
	maps.DeleteFunc(r.members, func(_ string, m *member) bool {
		return m.state != Alive && now.Sub(m.changed) > deadMemberTTL
	})
	r.box.Forget(now.Add(-deadMemberTTL))
}

// Newest returns the newest known occurrence of a job that another member took, and the name of
// that member's host. It does not wait for Run.
func (r *Ring) Newest(key job.Key) (due time.Time, by string, ok bool) {
	taken, ok := r.elsewhere.Load(key)
	if !ok {
		return time.Time{}, "", false
	}
	x := taken.(elsewhere)
	return time.Unix(0, x.due).UTC(), x.host, true
}

func (r *Ring) hold(holdings []catalog.Holding) {
	before := r.own.Root
	r.setRoster(roster.New(holdings))
	if r.stage.entry == joined && r.own.Root != before {
		r.own.Edited = r.o.Now()
	}
	r.elsewhere.Range(func(key, _ any) bool {
		if _, has := r.roster.Load().Find(key.(job.Key)); !has {
			r.elsewhere.Delete(key)
		}
		return true
	})
	r.publish()
	for _, m := range r.alive() {
		r.compare(m)
	}
}

func (r *Ring) setRoster(n *roster.Roster) {
	r.roster.Store(n)
	r.own.Root = n.Root
}
