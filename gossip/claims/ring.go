package claims

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

const usualHoldOff = 2 * time.Second

// startTime is the time after joining during which a member claims no missed occurrences.
// Members that start together, for instance after a power failure, have all joined by
// then and share them.
const startTime = 2 * time.Second

// mostClaims limits the claims of a step.
const mostClaims = 1024

// Ring is the state machine of a member. It is not safe for concurrent use; its views are.
type Ring struct {
	now         job.Moment
	host        exchange.Host
	ranking     *ranking   // nil: not known yet
	former      []*ranking // of earlier memberships, oldest first
	claims      map[exchange.Occurrence]*claim
	granted     int                  // claims that are granted or running
	queue       queue                // the claims whose time has not come
	asking      map[job.Key][]*claim // by key: claims whose first or next answer of the voters is on its way
	stalled     map[job.Key][]*claim // by key, oldest first: claims that neither members nor voters could decide
	early       []holders.Report     // orphans that were reported before the ranking was known
	shares      time.Duration        // Moment.Up at which this member begins to rank itself for missed occurrences; see startTime
	suspended   bool                 // it claims nothing in this step; see suspend
	departing   bool                 // its final state is being collected
	settleUntil time.Duration        // Moment.Up at which it sends its final state without the voters' answers
	releasing   []exchange.Progress  // which it gives up in its final state
	departed    bool                 // it takes nothing any longer

	received []holders.Event
	answers  []exchange.Answer
	effects  []holders.Effect
}

// New returns a Ring that knows no members.
func New() *Ring {
	return &Ring{host: exchange.Host{Jobs: &catalog.Catalog{}}, suspended: true, claims: map[exchange.Occurrence]*claim{}, asking: map[job.Key][]*claim{}, stalled: map[job.Key][]*claim{}}
}

// Receive adds events of the other members for the next Step.
func (r *Ring) Receive(events ...holders.Event) { r.received = append(r.received, events...) }

// Effects returns the messages to the other members since the last call, in order.
func (r *Ring) Effects() []holders.Effect {
	all := r.effects
	r.effects = nil
	return all
}

// Step handles messages of the engine and events of the other members, makes the claims whose
// time has come, and returns answers for the engine.
func (r *Ring) Step(now job.Moment, messages ...exchange.Message) []exchange.Answer {
	r.now = now
	for _, m := range messages {
		r.handle(m)
	}
	if r.departing && r.settled() {
		r.emit(holders.Unstarted{Occurrences: r.releasing})
		r.departing, r.releasing = false, nil
	}
	received := r.received
	r.received = nil
	for _, ev := range received {
		r.handleEvent(ev)
	}
	r.suspend()
	r.claimAll()
	all := r.answers
	r.answers = nil
	return all
}

func (r *Ring) emit(x holders.Effect)    { r.effects = append(r.effects, x) }
func (r *Ring) answer(a exchange.Answer) { r.answers = append(r.answers, a) }

// handle handles a message of the engine.
func (r *Ring) handle(m exchange.Message) {
	switch m := m.(type) {
	case exchange.Host:
		if !slices.Equal(r.host.Holdings, m.Holdings) {
			r.emit(holders.Holdings{Holdings: m.Holdings})
		}
		r.host = m
		for _, c := range r.claims {
			if _, ok := m.Jobs.FindRing(c.Key); !ok && c.state >= granted {
				r.forget(c)
			}
		}
	case exchange.Due:
		r.due(m)
	case exchange.Progress:
		r.progress(m)
	case exchange.Unstarted:
		r.reclaim(m.Progress)
	case exchange.Slept:
		for _, c := range r.claims {
			if c.state == asked {
				c.state = outdated
			}
		}
		r.answer(exchange.Recheck{})
	}
}

// progress passes this member's progress on.
func (r *Ring) progress(p exchange.Progress) {
	c := r.claims[p.Occurrence]
	switch {
	case p.GivenUp:
		r.giveUp(p.Occurrence)
	case c != nil && c.isAwaited() && p.Phase == exchange.Over:
		r.forget(c)
	case c != nil && c.state == granted && p.Phase == exchange.Begun:
		r.enter(c, running)
	}
	r.emit(p)
}

// handleEvent handles an event of the other members.
func (r *Ring) handleEvent(ev holders.Event) {
	switch ev := ev.(type) {
	case holders.Ring:
		r.joined(ev)
	case holders.Changes:
		r.others(ev.Others)
		r.yield(ev.Yielded)
		for _, x := range ev.Doubled {
			r.answer(exchange.Doubled{Occurrence: x.Occurrence, Host: x.Host, Run: x.Run})
		}
		r.orphaned(ev.Orphans)
	case holders.Claimed:
		r.claimed(ev)
	case holders.Departing:
		r.depart()
	}
}

// joined applies a new membership.
func (r *Ring) joined(ev holders.Ring) {
	before, unknown := r.ranking, r.ranking == nil
	r.former = remember(r.former, ev.Membership, r.now.Wall)
	r.ranking = nil
	if ev.Membership != nil {
		r.ranking = r.former[len(r.former)-1]
	}
	if len(r.stalled) > 0 && !unknown && r.ranking != nil && r.ranking.hasMoreThan(before) {
		r.retryStalled()
	}
	r.departed = r.departed && (r.ranking == nil || r.ranking.isDraining())
	r.suspended = r.isSuspended()
	r.answer(r.members(ev.Newest))
	if unknown && r.ranking != nil {
		r.shares = r.now.In(startTime)
		for _, c := range r.claims { // the others have had no turn, and the hold-off may be longer
			if c.purpose == records && c.at >= 0 {
				r.park(c, r.now.In(ranks*r.holdOff()))
			}
		}
		early := r.early
		r.early = nil
		r.orphaned(early)
	}
}

// retryStalled claims again what neither members nor voters could decide: a network partition may
// be over.
func (r *Ring) retryStalled() {
	for _, all := range r.stalled {
		for _, c := range all {
			if c.state == waiting && c.at >= 0 {
				r.park(c, r.now.Up)
			}
		}
	}
}

func (r *Ring) members(newest map[job.Key]time.Time) exchange.Members {
	return exchange.Members{Known: r.ranking != nil, Open: !r.suspended, HoldOff: r.holdOff(), Newest: newest}
}

// suspend updates whether this member may claim occurrences. Occurrences that come due
// while it must not are decided afterwards.
func (r *Ring) suspend() {
	if before := r.suspended; r.isSuspended() != before {
		r.suspended = !before
		r.answer(r.members(nil))
	}
}

// isSuspended reports whether this member must not claim occurrences: it does not know the
// other members, is barred, or most members do not agree with its clock as it is now.
func (r *Ring) isSuspended() bool {
	return r.ranking == nil || r.ranking.Barred != "" ||
		!r.ranking.Clock.Wall.IsZero() && r.now.Drift(r.ranking.Clock) > holders.MaxSkew
}

func (r *Ring) holdOff() time.Duration {
	if r.ranking == nil || r.ranking.HoldOff <= 0 {
		return usualHoldOff
	}
	return r.ranking.HoldOff
}

// hostOf returns the host name of a present member, or else its ID.
func (r *Ring) hostOf(id string) string {
	if r.ranking != nil {
		for i := range r.ranking.Members {
			if m := &r.ranking.Members[i]; m.ID == id {
				return m.Name
			}
		}
	}
	return id
}

// isCandidate reports whether this host can run a ring job: its entry is neither
// disabled nor held, and its user exists here and may log in.
func (r *Ring) isCandidate(slot int) bool {
	_, ok := slices.BinarySearchFunc(r.host.Holdings, r.host.Jobs.RingKey(slot), func(h catalog.Holding, key job.Key) int { return h.Key.Compare(key) })
	return ok
}

// Wake returns when the next claim is due. While a claim is not answered, it returns a time
// early enough to notice a suspend of this host.
func (r *Ring) Wake() (at time.Duration, ok bool) {
	if r.departing {
		return r.settleUntil, true
	}
	if r.suspended || r.host.Draining {
		return 0, false
	}
	if len(r.queue) > 0 {
		at, ok = r.queue[0].until, true
	}
	if len(r.claims) > len(r.queue)+r.granted {
		if look := r.now.In(r.holdOff()); !ok || look < at {
			at, ok = look, true
		}
	}
	return at, ok
}
