package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/rendezvous"
	"github.com/cronring/cronring/gossip/wire"
)

// Settle is how long a member that is drained or about to leave still claims the occurrences
// that it owns. Meanwhile the others are informed.
const Settle = 2 * time.Second

// Times of a Ring.
const (
	joinWait     = 5 * time.Second // how long this member waits for most members before it takes part without them
	stallTime    = 4 * time.Second // time without a tick after which this member counts as having been away
	bindAgain    = 5 * time.Second
	conflictTime = 2 * time.Minute
	reclaimTime  = 10 * time.Second // after this time a dead member may come back at another address
	goneTime     = 24 * time.Hour   // how long dead members stay visible
)

// Link carries requests between members; *link.Link implements it.
type Link interface {
	Ask(ctx context.Context, to link.Peer, verb string, body []byte) ([]byte, error)
	Handle(verb string, h link.Handler)
	Rekey(keys [][]byte) error
}

// Options describe a member, and how it finds the others.
type Options struct {
	Ring      string // its name; members of other rings are ignored
	ID        string // see Identity
	Name      string // the host's
	Version   string // of this program
	Bind      string // host:port, UDP and TCP
	Advertise string // host or host:port at which others reach it, if it differs from Bind
	LinkPort  uint16 // of its Link; 0: the port that it advertises
	Seeds     []string
	Keys      [][]byte // none: no encryption; only for the loopback interface
	Labels    map[string]string
	Weight    float64
	Rules     Rules
	Dir       string // directory of the file with the last known members
	Link      Link
	Log       *slog.Logger
	Now       func() time.Time                              // nil: time.Now
	Up        func() time.Duration                          // the time since boot, as in job.Moment; nil: since New
	Streams   func() (net.Listener, error)                  // connections to Bind's TCP port
	Transport func() (memberlist.NodeAwareTransport, error) // nil: UDP at Bind, and Streams
}

// Ring is this host's membership in a ring.
type Ring struct {
	o       Options
	box     *inbox
	events  chan register.Event
	control chan func()
	running chan struct{} // closed when Run returns
	word    atomic.Pointer[[]byte]
	state   atomic.Pointer[[]byte]
	roster  atomic.Pointer[roster]
	view    atomic.Pointer[Snapshot]
	started atomic.Bool // Run was called
	load    atomic.Uint32
	viewSum atomic.Uint64 // digest of the members that it sees
	sure    atomic.Bool   // most members agree with this host's clock

	elsewhere elsewhere

	// Only Run's goroutine uses the remaining fields.
	ctx           context.Context
	helpers       sync.WaitGroup
	list          *memberlist.Memberlist // nil: this host is not in a ring
	reports       *reports               // of list
	keyring       *memberlist.Keyring
	keys          [][]byte
	self          netip.AddrPort
	own           meta
	members       map[string]*member
	targets       map[string]*target // by address or name
	peers         map[string]peer
	asks          int // under way
	disagreements int // number of consecutive members that see different members than this one
	syncing       bool
	out           []register.Event
	problem       string
	again         time.Time // when to bind again

	joining   bool // the seeds are contacted for the first time
	joinBy    time.Time
	joined    bool
	draining  bool
	departing bool      // its engine is giving up waiting occurrences
	final     bool      // its final state is being sent
	idleFrom  time.Time // while it is drained: from then on its engine claims nothing
	joinedAt  time.Time
	metAll    time.Time       // by then it has messages from all members
	waiting   []chan struct{} // closed when this member has left
	clash     string          // another host has this member's ID
	clashed   time.Time
	remedy    string // what a person can do about barred
	barred    string

	register         *register.Register
	parkedMarks      []register.Mark // of members whose jobs are not known yet
	parkedNewest     []register.Newest
	marks            []register.Mark // this member's marks that are not sent yet
	marked           bool            // register has changed since renewed
	renewed          time.Time
	marksRequests    []marksRequest // not sent yet
	requestsPending  int            // sent, and not answered yet
	initialRequested bool           // requestInitialMarks was called
	answersReceived  int            // to requests
	answersBy        time.Time

	changed    bool // the membership has changed since told
	told       time.Time
	newestTold time.Time
	telling    *time.Timer
	clock      clockCheck
	unsaved    bool
	saving     bool
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
		o: o, box: newInbox(o.ID, o.Now), keys: o.Keys,
		events: make(chan register.Event, 64), control: make(chan func()), running: make(chan struct{}),
		register: register.New(o.ID, register.DefaultLimits),
		members:  make(map[string]*member), targets: make(map[string]*target), peers: make(map[string]peer),
	}
	r.own = meta{
		name: o.Name, version: o.Version, order: rendezvous.Version, weight: o.Weight,
		labels: o.Labels, keys: fingerprints(o.Keys), rules: o.Rules,
	}
	r.setRoster(newRoster(nil))
	r.state.Store(new([]byte))
	r.viewSum.Store(viewSumOf(o.ID))
	r.view.Store(&Snapshot{Ring: o.Ring, Self: o.ID})
	o.Link.Handle(verbRoster, r.answerRoster)
	o.Link.Handle(verbHello, r.answerHello)
	o.Link.Handle(verbClaim, r.answerClaim)
	o.Link.Handle(verbTell, r.answerTell)
	o.Link.Handle(verbMarks, r.answerMarks)
	o.Link.Handle(verbNewest, r.answerNewest)
	return r, nil
}

func (o *Options) check() error {
	if o.Ring == "" || len(o.Ring) > maxName || !printable(o.Ring) {
		return fmt.Errorf("its name is to have 1 to %d printable bytes", maxName)
	}
	if err := wire.CheckID(o.ID); err != nil {
		return err
	}
	if len(o.Keys) > 0 {
		if err := checkKeys(o.Keys); err != nil {
			return err
		}
	}
	if len(o.Labels) > maxLabels {
		return fmt.Errorf("%d labels: at most %d", len(o.Labels), maxLabels)
	}
	for k, v := range o.Labels {
		if k == "" || len(k) > maxLabel || len(v) > maxLabel || !printable(k) || !printable(v) {
			return fmt.Errorf("label %q=%q is not of 1 to %d printable bytes", k, v, maxLabel)
		}
	}
	if !(o.Weight > 0) || o.Weight > maxWeight {
		return fmt.Errorf("weight %v is not above 0 and at most %v", o.Weight, maxWeight)
	}
	if o.Name == "" || len(o.Name) > maxName || !printable(o.Name) {
		return fmt.Errorf("host name %q is not of 1 to %d printable bytes", o.Name, maxName)
	}
	if len(o.Version) > maxVersion || !printable(o.Version) {
		return fmt.Errorf("version %q is not of at most %d printable bytes", o.Version, maxVersion)
	}
	return nil
}

// Events returns the channel of events for the engine. A slow reader delays only these events.
func (r *Ring) Events() <-chan register.Event { return r.events }

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
// it to report its runs of the last day when it starts, and the occurrences that the voters
// granted it.
func (r *Ring) Take(effects ...register.Effect) {
	r.box.put(func(h *heard) { h.effects = append(h.effects, effects...) })
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

// Join makes this host a member again after Leave or Drain. It looks for members at
// the addresses in seeds, host:port, in addition to the configured ones.
func (r *Ring) Join(ctx context.Context, seeds ...string) error {
	return r.do(ctx, func() error {
		if len(r.waiting) > 0 {
			return errors.New("this host is about to leave the ring")
		}
		for _, s := range seeds {
			r.targets["seed "+s] = &target{seed: true, addr: s}
		}
		if r.list == nil {
			r.come()
			return nil
		}
		r.discover()
		if r.draining {
			r.draining = false
			r.setPart()
		}
		return nil
	})
}

// Rekey changes the keys of this member. It rejects a change that would cut this member off
// from live ones. So first add a new key on all members, then encrypt with it, and remove the
// old key when no member encrypts with it any longer.
func (r *Ring) Rekey(ctx context.Context, keys [][]byte) error {
	return r.do(ctx, func() error {
		if err := checkRotation(r.keys, keys, r.alive()); err != nil {
			return fmt.Errorf("change the ring's keys: %w", err)
		}
		if err := r.o.Link.Rekey(keys); err != nil {
			return fmt.Errorf("change the ring's keys: %w", err)
		}
		if r.keyring != nil {
			if err := install(r.keyring, keys); err != nil {
				return fmt.Errorf("change the ring's keys: %w", err)
			}
		}
		r.keys, r.own.keys = keys, fingerprints(keys)
		r.say()
		return nil
	})
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
		r.view.Store(r.snapshot())
		close(r.running)
	}()
	r.ctx = ctx
	r.recall()
	r.come()
	r.started.Store(true)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	r.telling = time.NewTimer(0)
	defer r.telling.Stop()
	for {
		r.tell()
		var send chan<- register.Event
		var next register.Event
		if len(r.out) > 0 {
			send, next = r.events, r.out[0]
		}
		select {
		case <-ctx.Done():
			return
		case <-r.box.signal:
			r.hear(r.box.take())
		case f := <-r.control:
			f()
		case <-ticker.C:
			r.tick()
		case <-r.telling.C:
		case send <- next:
			r.out = r.out[1:]
		}
	}
}

// help runs f, which may block, in a separate goroutine. The function that f returns then runs on
// Run's goroutine.
func (r *Ring) help(f func(ctx context.Context) func()) {
	ctx := r.ctx
	r.helpers.Go(func() {
		if then := f(ctx); then != nil {
			r.box.post(then)
		}
	})
}

// come makes this host a member, which at first sees no others.
func (r *Ring) come() {
	now := r.o.Now()
	r.again = time.Time{}
	r.own.since, r.own.edited = now, time.Time{}
	r.draining, r.joined, r.joining, r.joinBy = false, false, true, time.Now().Add(joinWait)
	r.initialRequested, r.answersReceived = false, 0
	r.clock.last = r.moment()
	r.setPart()
	if err := r.open(); err != nil {
		if r.problem == "" {
			r.o.Log.Error("ring: cannot take part", "ring", r.o.Ring, "err", err)
		}
		r.problem, r.again = err.Error(), now.Add(bindAgain)
		return
	}
	r.problem = ""
	for _, t := range r.targets {
		t.tried, t.fails, t.retry = false, 0, time.Time{}
	}
	r.checkClock()
	r.discover()
}

func (r *Ring) open() error {
	transport, err := r.transport()
	if err != nil {
		return err
	}
	if r.own.linkPort = r.o.LinkPort; r.own.linkPort == 0 {
		_, port, err := transport.FinalAdvertiseAddr("", 0)
		if err != nil {
			transport.Shutdown()
			return err
		}
		r.own.linkPort = uint16(port)
	}
	r.say()
	list, err := memberlist.Create(r.configure(transport))
	if err != nil {
		transport.Shutdown()
		return err
	}
	n := list.LocalNode()
	ip, _ := netip.AddrFromSlice(n.Addr)
	r.list, r.self = list, netip.AddrPortFrom(ip.Unmap(), n.Port)
	return nil
}

func (r *Ring) transport() (memberlist.NodeAwareTransport, error) {
	if r.o.Transport != nil {
		return r.o.Transport()
	}
	streams, err := r.o.Streams()
	if err != nil {
		return nil, err
	}
	return newNetTransport(r.o.Bind, r.o.Advertise, streams)
}

func (r *Ring) configure(transport memberlist.Transport) *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label, c.Transport = r.o.ID, r.o.Ring, transport
	c.Logger = newLogWriter(r.o.Log)
	r.reports = &reports{inbox: r.box}
	c.Delegate, c.Events, c.Alive, c.Conflict, c.Ping = delegate{r}, r.reports, r.box, r.box, delegate{r}
	c.DelegateProtocolMin, c.DelegateProtocolMax, c.DelegateProtocolVersion = 1, 1, 1
	c.DeadNodeReclaimTime = reclaimTime
	c.EnableCompression = false // digests and hashes do not compress
	r.keyring = nil
	if len(r.keys) > 0 {
		r.keyring = &memberlist.Keyring{}
		c.SecretKey, c.Keyring = r.keys[0], r.keyring
		_ = install(r.keyring, r.keys) // New and Rekey checked them
	}
	return c
}

// delegate provides memberlist with the data of this member.
type delegate struct{ *Ring }

func (d delegate) NodeMeta(int) []byte               { return *d.word.Load() }
func (d delegate) NotifyMsg(b []byte)                { d.box.NotifyMsg(b) }
func (d delegate) GetBroadcasts(int, int) [][]byte   { return nil }
func (d delegate) LocalState(bool) []byte            { return *d.state.Load() }
func (d delegate) MergeRemoteState(b []byte, j bool) { d.box.MergeRemoteState(b, j) }

func (d delegate) AckPayload() []byte { return d.encodeSample() }

func (d delegate) NotifyPingComplete(n *memberlist.Node, trip time.Duration, payload []byte) {
	d.box.NotifyPingComplete(n, trip, payload)
}

// setPart decides whether this member claims occurrences that come due, and announces that to
// the others.
func (r *Ring) setPart() {
	part := Active
	switch {
	case r.barred != "" || r.draining:
		part = Draining
	case r.joining:
		part = Joining
	}
	if part == Draining && r.own.part != Draining {
		r.idleFrom = time.Now().Add(Settle)
		r.after(Settle, func() { r.changed = true })
	}
	r.own.part = part
	r.say()
}

// say publishes the current metadata of this member.
func (r *Ring) say() {
	r.own.stamp = later(r.o.Now(), r.own.stamp.Add(1))
	b := r.own.encode()
	r.word.Store(&b)
	r.changed, r.unsaved = true, true
	if r.list != nil {
		// Gossip continues in the background, so waiting is unnecessary.
		_ = r.list.UpdateNode(time.Nanosecond)
	}
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

func (r *Ring) stop() {
	if r.list != nil {
		r.reports.over.Store(true)
		_ = r.list.Shutdown() // it never fails
		r.list = nil
	}
}

// hear processes the contents of the inbox.
func (r *Ring) hear(h heard) {
	for _, c := range h.conflicts {
		r.conflict(c)
	}
	for id, w := range h.words {
		if id != r.o.ID && r.list != nil {
			r.hearOf(id, w)
		}
	}
	for id, s := range h.samples {
		if m := r.members[id]; m != nil {
			m.look(s)
			r.compareViews(m, s.viewSum)
		}
	}
	for id, addr := range h.returning {
		r.check(id, addr)
	}
	if h.stamp.After(r.own.stamp) {
		r.own.stamp = h.stamp // this host's clock was ahead once
		r.say()
	}
	claims := r.carryOut(h.effects) // before the marks of others about this member
	r.hearMarks(h.marks)
	r.heldBy(h.taken)
	r.claim(claims)
	for _, f := range h.done {
		f()
	}
}

// carryOut carries out effects of the engine, apart from claims, which it returns.
func (r *Ring) carryOut(effects []register.Effect) (claims []register.Claim) {
	for _, e := range effects {
		switch e := e.(type) {
		case register.Holdings:
			r.hold(e.Holdings)
		case register.Progress:
			m, news := r.register.Progress(e, r.o.Now())
			r.announce(m)
			r.report(news)
		case register.Claim:
			claims = append(claims, e)
		case register.Unstarted:
			if r.departing && !r.final {
				r.broadcastFinal(e)
			}
		}
	}
	return claims
}

func (r *Ring) hold(holdings []catalog.Holding) {
	before := r.own.root
	r.setRoster(newRoster(holdings))
	if r.joined && r.own.root != before {
		r.own.edited = r.o.Now()
	}
	r.elsewhere.keep(r.roster.Load())
	r.say()
	for _, m := range r.alive() {
		r.compare(m)
	}
}

func (r *Ring) setRoster(n *roster) {
	r.roster.Store(n)
	r.own.root = n.root
}

// hearOf processes a message about another member.
func (r *Ring) hearOf(id string, w word) {
	now := r.o.Now()
	m := r.members[id]
	if m == nil {
		m = &member{id: id}
		r.members[id] = m
	}
	was, apart := m.state, m.changed
	anew := was == Alive && w.alive && !w.meta.since.Equal(m.meta.since)
	m.meta, m.addr = w.meta, w.addr
	r.changed = true
	switch {
	case r.checkLeft(m): // the message is older: gossip still delivers it
		return
	case !w.alive:
		r.setState(m, Gone)
		if was == Alive {
			r.lose(m)
		}
		return
	}
	r.setState(m, Alive)
	r.remember(m, now)
	r.compare(m)
	if anew {
		r.lose(m)
	}
	if was == Alive && !anew {
		return
	}
	if r.clock.open {
		r.askClock(m)
	}
	r.register.Regain(m.id)
	if r.joined {
		r.learn(m, apart)
	}
}

// setState records whether a member is alive.
func (r *Ring) setState(m *member, s State) {
	if m.state == s {
		return
	}
	if (m.state == Alive) != (s == Alive) {
		r.viewSum.Store(r.viewSum.Load() ^ viewSumOf(m.id))
		r.disagreements = 0
	}
	m.state, m.changed, m.unconfirmed = s, r.o.Now(), nil
	r.changed = true
	r.o.Log.Info("ring: member is "+s.String(), "member", m.id, "host", m.meta.name, "addr", m.addr)
}

// conflict handles two hosts with the same ID, for example after a disk was copied. The
// host that joined later claims nothing.
func (r *Ring) conflict(c conflict) {
	now := r.o.Now()
	if now.Sub(r.clashed) > conflictTime || c.id == r.o.ID && r.clash == "" {
		r.o.Log.Error("ring: two hosts have one member ID; remove the file "+idFile+" of one of them and start it again",
			"member", c.id, "host", c.name, "addr", c.addr)
		r.clashed = now
	}
	if c.id == r.o.ID && c.since.Before(r.own.since) {
		r.clash, r.clashed = fmt.Sprintf("host %s at %s has this member's ID too", c.name, c.addr), now
		r.judge()
	}
}

// judge decides whether this member may claim occurrences.
func (r *Ring) judge() {
	if r.clash != "" && r.o.Now().Sub(r.clashed) > conflictTime {
		r.clash = ""
	}
	clock := r.clockFault()
	if clock == "" && !r.clock.open {
		r.confirm()
	} else {
		r.sure.Store(false)
	}
	barred := ""
	for _, fault := range []struct{ why, remedy string }{
		{r.clash, "remove the file " + idFile + " on one of the two hosts and restart cronring there"},
		{r.olderFault(), "upgrade cronring on that host"},
		{r.rulesFault(), "give ring.mode and ring.hold-off the same values on all members, then: systemctl restart cronring"},
		{clock, "set the clock: chronyc makestep"},
	} {
		if fault.why != "" {
			barred, r.remedy = fault.why, fault.remedy
			break
		}
	}
	if (barred == "") == (r.barred == "") {
		r.changed = r.changed || barred != r.barred
		r.barred = barred
		return
	}
	r.barred = barred
	if barred != "" {
		r.o.Log.Error("ring: this host takes no jobs of the ring: " + barred)
	} else {
		r.o.Log.Info("ring: this host takes jobs of the ring again")
	}
	r.setPart()
}

// tick does the periodic work.
func (r *Ring) tick() {
	now := r.o.Now()
	if gap := r.watchClock(); gap > stallTime && r.joined {
		r.o.Log.Warn("ring: this host was away, and comes back", "away", gap)
	}
	if r.list == nil && !r.again.IsZero() && !now.Before(r.again) {
		r.come()
	}
	if r.list != nil {
		r.judge()
		r.discover()
		for _, m := range r.alive() {
			r.compare(m)
		}
		r.unpark()
		r.sendUnconfirmed()
	}
	r.save()
	r.renew(now)
	maps.DeleteFunc(r.members, func(_ string, m *member) bool {
		return m.state != Alive && now.Sub(m.changed) > goneTime
	})
	r.box.forget(now.Add(-goneTime))
}
