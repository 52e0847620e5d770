package gossip

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/clocks"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/roster"
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

// member is the record of another member.
type member struct {
	id      string
	meta    meta.Meta
	addr    netip.AddrPort
	state   State
	changed time.Time // when state changed

	diff     roster.Difference
	basis    basis           // of diff
	compared bool            // diff has been computed, perhaps from an older basis
	foreign  map[job.Key]int // number of ignored reports on occurrences of these jobs; see judgeReport
	asking   bool
	retry    time.Time // earliest time of the next request
	fails    int
	trouble  string // why the last request failed

	unconfirmed []message // requests that are sent again until it confirms them
	sending     bool
	retryAt     time.Time
	finalSince  time.Time // meta.since of the membership whose final state it sent last

	samples clocks.Samples
	slowest time.Duration // the longest time that it took to answer a claim in the last slowTime
	slowAt  time.Time     // of that answer
}

// message is a request to a member that must arrive.
type message struct {
	verb string
	body []byte
}

// left reports whether the member sent the final state of its present membership.
func (m *member) left() bool { return !m.finalSince.IsZero() && m.finalSince.Equal(m.meta.Since) }

// basis identifies the input of a difference. If the current basis is another one, the
// difference is out of date.
type basis struct {
	ours, theirs meta.Digest
}

func (m *member) peer() link.Peer {
	return link.Peer{ID: m.id, Addr: m.addr.String()}
}

// settled returns the current basis of the member's difference, and reports whether the
// difference is up to date.
func (m *member) settled(r *roster.Roster) (basis, bool) {
	b := basis{ours: r.Root, theirs: m.meta.Root}
	return b, b == m.basis
}

func (m *member) membership() holders.Member {
	return holders.Member{
		ID: m.id, Name: m.meta.Name, Labels: m.meta.Labels, Weight: m.meta.Weight,
		Draining: m.meta.Part != meta.Active, Lacks: m.diff.Lacks,
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
	Others  []inbox.Outsider
}

// View is a member in a Snapshot.
type View struct {
	ID string
	meta.Meta
	Address string // host:port
	State   State
	Changed time.Time // when State changed
	Offset  time.Duration
	Trip    time.Duration // last measured round trip
	Skewed  bool          // its clock is wrong enough to need correction
	Lacks   []job.Key     // this host's ring jobs for which it does not hold the same entry
	Extra   []job.Key     // its ring jobs that this host lacks, the first thousand
	Foreign []job.Key     // this host's ring jobs of which it claims occurrences without holding the same entry
	Pending bool          // its jobs are being requested
	Trouble string        // why that request failed
	Load    int
}

func (m *member) view(r *roster.Roster) View {
	offset, _ := m.samples.Offset()
	_, settled := m.settled(r)
	last := m.samples.Last()
	return View{
		ID: m.id, Meta: m.meta, Address: m.addr.String(), State: m.state, Changed: m.changed,
		Offset: offset, Trip: last.Trip, Skewed: offset.Abs() > clocks.SkewShown,
		Lacks: slices.SortedFunc(maps.Keys(m.diff.Lacks), job.Key.Compare), Extra: m.diff.Extra, Foreign: m.foreignJobs(), Pending: !settled, Trouble: m.trouble,
		Load: last.Load,
	}
}

// updateMember processes a message about another member.
func (r *Ring) updateMember(id string, u inbox.Update) {
	m := r.members[id]
	if m == nil {
		m = &member{id: id}
		r.members[id] = m
	}
	was, apart := m.state, m.changed
	anew := was == Alive && u.Alive && !u.Meta.Since.Equal(m.meta.Since)
	m.meta, m.addr = u.Meta, u.Addr
	r.outbox.changed = true
	switch {
	case r.checkLeft(m): // the message is older: gossip still delivers it
		return
	case !u.Alive:
		r.setState(m, Gone)
		if was == Alive {
			r.lose(m)
		}
		return
	}
	r.setState(m, Alive)
	r.remember(m)
	r.compare(m)
	if anew {
		r.lose(m)
	}
	if was == Alive && !anew {
		return
	}
	r.joinAt = time.Now()
	if r.clock.Open {
		r.askClock(m)
	}
	r.table.Regain(m.id)
	// While this member joins, the first one that it saw may be the only one with another entry.
	if r.stage.entry == joined || r.catchUp.begun && r.catchUp.asked < learnFrom {
		r.learn(m, apart)
	}
	r.sendUnconfirmed()
}

// setState records whether a member is alive.
func (r *Ring) setState(m *member, s State) {
	if m.state == s {
		return
	}
	if (m.state == Alive) != (s == Alive) {
		r.viewSum.Store(r.viewSum.Load() ^ viewSumOf(m.id))
		r.views.disagreements = 0
	}
	m.state, m.changed = s, r.o.Now()
	r.outbox.changed = true
	r.o.Log.Info("ring: member is "+s.String(), "member", m.id, "host", m.meta.Name, "addr", m.addr)
}

// hostOf returns the host name of a member, or its ID if the name is not known.
func (r *Ring) hostOf(id string) string {
	if m := r.members[id]; m != nil {
		return m.meta.Name
	}
	return r.search.NameOf(id)
}
