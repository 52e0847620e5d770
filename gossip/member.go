package gossip

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
)

// State is what is known of whether a member is there.
type State uint8

// The states.
const (
	Alive State = iota + 1
	Gone        // it does not answer
	Left        // it said that it goes
)

func (s State) String() string {
	return [...]string{"unknown", "alive", "gone", "left"}[s]
}

// Bounds on looks at clocks.
const (
	skewShown  = 250 * time.Millisecond // beyond which a member's clock is shown as off
	maxSamples = 5
)

// member is another member as far as it is known.
type member struct {
	id      string
	meta    meta
	addr    netip.AddrPort
	state   State
	changed time.Time // since then it is in its state

	diff     difference
	basis    basis           // of diff
	compared bool            // diff is that of some basis
	foreign  map[job.Key]int // reports on occurrences of these jobs that were ignored; see judgeReport
	asking   bool
	retry    time.Time // ask again then
	fails    int
	trouble  string // why it could not be asked

	unconfirmed [][]byte // messages that it has not confirmed, and that are sent again
	telling     bool
	retryAt     time.Time
	finalSince  time.Time // meta.since of the membership whose final state it sent last

	labels  map[string]string // as they were asked for, if they are too many for its word
	samples []sample
	ahead   time.Duration // its clock, of this one's, by the samples
}

// left reports whether the member sent the final state of its present membership.
func (m *member) left() bool { return !m.finalSince.IsZero() && m.finalSince.Equal(m.meta.since) }

// basis is what a difference was made from: when it is another one, the
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

// look takes in a look at the member's clock. How far it is ahead of this one's
// is the median of some.
func (m *member) look(s sample) {
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

// offset is how far the member's clock is ahead, if that is known.
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

// load is the number of runs there as of its last answer to a probe.
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

// settled says what the member's difference would be made from now, and whether
// it is known already.
func (m *member) settled(r *roster) (basis, bool) {
	b := basis{ours: r.root, theirs: m.meta.root, labels: m.meta.labelSum}
	return b, b == m.basis
}

func (m *member) membership() engine.Member {
	return engine.Member{
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

// Snapshot is the ring as it is shown. It is immutable.
type Snapshot struct {
	Ring    string
	Self    string
	Joined  bool   // the seeds answered, or were waited for
	Barred  string // why this member claims nothing, or ""
	Remedy  string // what a person can do about that
	Problem string // what keeps it from being in the ring, or ""
	Members []View // by name
	Others  []OtherForm
}

// OtherForm is a host that has a key of the ring, and whose messages have another form
// than this member's: it runs another version of cronring, and is no member.
type OtherForm struct {
	Name      string // its ID, if it does not say its name
	Version   string // of its cronring; "": not known
	Address   string // host:port
	Form, Own int    // of its messages, and of this member's
	heard     time.Time
}

// View is a member in a Snapshot.
type View struct {
	ID, Name, Version string
	Address, Link     string // host:port
	State             State
	Changed           time.Time // it is in its State since then
	Since             time.Time // it came
	Part              Part
	Labels            map[string]string
	Weight            float64
	Measured          bool // Offset is known
	Offset            time.Duration
	Trip              time.Duration // there and back, as measured last
	Skewed            bool          // its clock is so far off that it should be seen to
	Lacks             []job.Key     // this host's ring jobs of which it has no equal entry
	Extra             []job.Key     // its own that this host has not, the first thousand
	Foreign           []job.Key     // of this host's ring jobs, those of which it claims occurrences without holding the entry
	Pending           bool          // its jobs are being asked for
	Trouble           string        // why they could not be
	Load              int
	Order             uint8    // the version of rendezvous that it has
	Keys              []uint32 // prints of its keys, the one it writes with first
	Rules             Rules
}

// Equal says whether the member holds the same ring jobs, as far as is known.
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

// skew is how far this member's clock is off, as the others' say together: the
// median of all, this one's own among them. Of two in the middle the nearer one
// counts, as two members cannot tell whose clock is wrong.
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
