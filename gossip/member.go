package gossip

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
)

// State is the state of a member as this one sees it.
type State uint8

// The states.
const (
	Alive State = iota + 1
	Gone        // it does not answer
	Left        // it announced that it leaves
)

func (s State) String() string {
	return [...]string{"unknown", "alive", "gone", "left"}[s]
}

// Limits of the comparison of clocks.
const (
	skewShown  = 250 * time.Millisecond // above this offset a member's clock is displayed as wrong
	maxSamples = 5
)

// member is the record of another member.
type member struct {
	id      string
	meta    meta
	addr    netip.AddrPort
	state   State
	changed time.Time // when state changed

	diff     difference
	basis    basis           // of diff
	compared bool            // diff has been computed, perhaps from an older basis
	foreign  map[job.Key]int // number of ignored reports on occurrences of these jobs; see judgeReport
	asking   bool
	retry    time.Time // earliest time of the next request
	fails    int
	trouble  string // why the last request failed

	unconfirmed [][]byte // messages that are sent again until it confirms them
	sending     bool
	retryAt     time.Time
	finalSince  time.Time // meta.since of the membership whose final state it sent last

	labels  map[string]string // as requested from it, if they do not fit into its meta
	samples []sample
	ahead   time.Duration // how far its clock is ahead of this one's: the median of samples
}

// left reports whether the member sent the final state of its present membership.
func (m *member) left() bool { return !m.finalSince.IsZero() && m.finalSince.Equal(m.meta.since) }

// basis identifies the input of a difference. If the current basis is another one, the
// difference is out of date.
type basis struct {
	ours, theirs, labels digest
}

func (m *member) peer() link.Peer {
	return link.Peer{ID: m.id, Addr: linkAddr(m.addr, m.meta.linkPort)}
}

func linkAddr(addr netip.AddrPort, port uint16) string {
	return net.JoinHostPort(addr.Addr().String(), strconv.Itoa(int(port)))
}

// addSample adds a sample of the member's clock, and updates its offset: the median of the last
// samples.
func (m *member) addSample(s sample) {
	m.samples = append(m.samples, s)
	if len(m.samples) > maxSamples {
		m.samples = m.samples[1:]
	}
	var offsets [maxSamples]time.Duration
	for i, s := range m.samples {
		offsets[i] = s.offset
	}
	slices.Sort(offsets[:len(m.samples)])
	m.ahead = offsets[len(m.samples)/2]
}

// offset returns how far the member's clock is ahead, and whether that is known.
func (m *member) offset() (time.Duration, bool) { return m.ahead, len(m.samples) > 0 }

func (m *member) trip() time.Duration {
	if len(m.samples) == 0 {
		return 0
	}
	return m.samples[len(m.samples)-1].trip
}

// claimTime returns how long to wait for an answer of the member to a claim.
func (m *member) claimTime() time.Duration {
	slowest := time.Duration(0)
	for _, s := range m.samples {
		slowest = max(slowest, s.trip)
	}
	return min(max(claimTime, claimTrips*slowest), mostClaim)
}

// load returns the number of runs on the member, from its last answer to a probe.
func (m *member) load() int {
	if len(m.samples) == 0 {
		return 0
	}
	return m.samples[len(m.samples)-1].load
}

func (m *member) allLabels() map[string]string {
	if m.meta.wide {
		return m.labels
	}
	return m.meta.labels
}

// settled returns the current basis of the member's difference, and reports whether the
// difference is up to date.
func (m *member) settled(r *roster) (basis, bool) {
	b := basis{ours: r.root, theirs: m.meta.root, labels: m.meta.labelSum}
	return b, b == m.basis
}

func (m *member) membership() register.Member {
	return register.Member{
		ID: m.id, Name: m.meta.name, Labels: m.allLabels(), Weight: m.meta.weight,
		Draining: m.meta.part != Active, Lacks: m.diff.lacks,
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Snapshot is the state of the ring for display. It is immutable.
type Snapshot struct {
	Ring    string
	Self    string
	Joined  bool   // the seeds answered, or the wait for them is over
	Barred  string // why this member claims nothing, or ""
	Remedy  string // how an administrator can fix that
	Problem string // why this host could not join the ring, or ""
	Members []View // by name
	Others  []OtherForm
}

// OtherForm is a host that has a key of the ring, but whose messages have a different format,
// because it runs another version of cronring. It is not a member.
type OtherForm struct {
	Name      string // or its ID, if its name is not known
	Version   string // of its cronring; "": not known
	Address   string // host:port
	Form, Own int    // version of the format of its messages, and of this member's
	seen      time.Time
}

// View is a member in a Snapshot.
type View struct {
	ID, Name, Version string
	Address, Link     string // host:port
	State             State
	Changed           time.Time // when State changed
	Since             time.Time // when it joined
	Part              Part
	Labels            map[string]string
	Weight            float64
	Measured          bool // Offset is known
	Offset            time.Duration
	Trip              time.Duration // last measured round trip
	Skewed            bool          // its clock is wrong enough to need correction
	Lacks             []job.Key     // this host's ring jobs for which it does not hold the same entry
	Extra             []job.Key     // its ring jobs that this host lacks, the first thousand
	Foreign           []job.Key     // this host's ring jobs of which it claims occurrences without holding the same entry
	Pending           bool          // its jobs are being requested
	Trouble           string        // why that request failed
	Load              int
	Order             uint8    // the version of rendezvous hashing that it uses
	Keys              []uint32 // fingerprints of its keys; it encrypts with the first
	Rules             Rules
}

// Equal reports whether the member holds the same ring jobs, as far as is known.
func (v *View) Equal() bool { return len(v.Lacks) == 0 && len(v.Extra) == 0 && !v.Pending }

func (m *member) view(r *roster) View {
	offset, measured := m.offset()
	_, settled := m.settled(r)
	e := m.membership()
	return View{
		ID: m.id, Name: m.meta.name, Version: m.meta.version,
		Address: hostPort(m.addr), Link: m.peer().Addr,
		State: m.state, Changed: m.changed, Since: m.meta.since, Part: m.meta.part,
		Labels: e.Labels, Weight: e.Weight,
		Measured: measured, Offset: offset, Trip: m.trip(), Skewed: offset.Abs() > skewShown,
		Lacks: slices.SortedFunc(maps.Keys(e.Lacks), job.Key.Compare), Extra: m.diff.extra, Foreign: m.foreignJobs(), Pending: !settled, Trouble: m.trouble,
		Load: m.load(), Order: m.meta.order, Keys: m.meta.keys, Rules: m.meta.rules,
	}
}

// skew returns how far the median of all members' clocks, this one's included, is ahead of this
// member's clock. If there are two medians, it returns the smaller difference, because two
// members cannot find out which of their clocks is wrong.
func skew(members map[string]*member) time.Duration {
	offsets := []time.Duration{0}
	for _, m := range members {
		if o, ok := m.offset(); ok && m.state == Alive {
			offsets = append(offsets, o)
		}
	}
	slices.Sort(offsets)
	low, high := offsets[(len(offsets)-1)/2], offsets[len(offsets)/2]
	if low.Abs() < high.Abs() {
		return low
	}
	return high
}

// updateMember processes a message about another member.
func (r *Ring) updateMember(id string, u update) {
	now := r.o.Now()
	m := r.members[id]
	if m == nil {
		m = &member{id: id}
		r.members[id] = m
	}
	was, apart := m.state, m.changed
	anew := was == Alive && u.alive && !u.meta.since.Equal(m.meta.since)
	m.meta, m.addr = u.meta, u.addr
	r.outbox.changed = true
	switch {
	case r.checkLeft(m): // the message is older: gossip still delivers it
		return
	case !u.alive:
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
	if r.stage.entry == joined {
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
		r.search.disagreements = 0
	}
	m.state, m.changed, m.unconfirmed = s, r.o.Now(), nil
	r.outbox.changed = true
	r.o.Log.Info("ring: member is "+s.String(), "member", m.id, "host", m.meta.name, "addr", m.addr)
}
