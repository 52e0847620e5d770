package holders

import (
	"math"
	"slices"
	"time"
	"unique"

	"github.com/cronring/cronring/daemon/engine/exchange"
)

// claim is a claim of this member that is under way.
type claim struct {
	Question
	waiting []name
	silent  []name // they have not answered in time; an answer still counts while others are waited for
	gaveWay name   // the member that it gave way to, or whose mark arrived meanwhile, or nobody
}

// own refuses a claim in the first generation, if this member knows that the occurrence is taken,
// or that it may be. Otherwise the claim is undecided.
func (r *Table) own(o exchange.Occurrence) Claimed {
	if e := r.entries[o]; e != nil && e.holder().phase > 0 {
		return Claimed{Occurrence: o, Grant: Refused, By: e.holder().member.Value()}
	} else if e == nil && r.forgotten(o) {
		return Claimed{Occurrence: o, Grant: Refused}
	}
	return Claimed{}
}

// forgotten reports whether an occurrence without a record may have been taken nevertheless.
func (r *Table) forgotten(o exchange.Occurrence) bool {
	known, ok := r.newest[o.Key]
	if !ok {
		return o.Due <= r.dropped[r.owner(o.Key)]
	}
	return known.due >= o.Due && o.Due <= max(r.horizon, known.dropped)
}

func (r *Table) take(o exchange.Occurrence, generation uint8, now time.Time) Claimed {
	e := r.entry(o, now)
	if e.mine.phase == 0 || e.mine.generation != generation {
		before := e.holder()
		e.mine = state{member: r.self, generation: generation, phase: exchange.Taken, attempt: before.attempt, lost: before.lost}
	}
	e.asked, e.lostTo = nobody, nobody
	r.advance(o, r.self, now)
	return Claimed{Occurrence: o, Grant: Granted}
}

// Ask begins a claim. peers are the other live members. If the outcome is Undecided, the caller
// sends the question to each of them, and passes each answer to Receive. With again it claims an
// occurrence of a dead member, or the next attempt at an occurrence of this member. If this
// member took the occurrence but did not begin it, Ask always checks with the others: this
// member may have been away, and another one may have taken it.
func (r *Table) Ask(o exchange.Occurrence, again bool, peers []string, now time.Time) (Question, Claimed) {
	q := Question{Occurrence: o}
	if own := r.unfinished(o); own != nil && (again || own.phase == exchange.Taken) {
		q.Mine, q.Generation = true, own.generation
		if q.Generation > 0 {
			q.Phase, q.Attempt = exchange.Taken, own.attempt
		}
	} else if again {
		out := Claimed{}
		if q, out = r.again(o, peers); out.Grant != Undecided {
			return q, out
		}
	} else if out := r.own(o); out.Grant == Refused {
		return q, out
	}
	if len(peers) == 0 {
		return q, r.take(o, q.Generation, now)
	}
	r.serial++
	q.Serial = r.serial
	c := &claim{Question: q}
	for _, peer := range peers {
		c.waiting = append(c.waiting, unique.Make(peer))
	}
	r.claims[o] = c
	return q, Claimed{}
}

// unfinished returns the state of an occurrence that this member took and still holds. It returns
// nil if there is none, or if the occurrence is over or was given up.
func (r *Table) unfinished(o exchange.Occurrence) *state {
	e := r.entries[o]
	if e == nil || e.mine.phase == 0 || e.mine.phase == exchange.Over || e.mine.givenUp || e.holder() != &e.mine {
		return nil
	}
	return &e.mine
}

// again decides a claim of an occurrence that a member gave up, or whose member is dead, as far as this
// member can without the others. If peers include a holder that died, it was restarted or is back, and
// answers for itself; one that took the occurrence meanwhile keeps it. An occurrence without a record is
// assumed to have been claimed once.
func (r *Table) again(o exchange.Occurrence, peers []string) (Question, Claimed) {
	q := Question{Occurrence: o, Generation: 1, Phase: exchange.Taken}
	e := r.entries[o]
	if e == nil {
		return q, Claimed{}
	}
	held := e.holder()
	lives := !r.dead[held.member] && (!held.orphan || !slices.Contains(peers, held.member.Value()))
	if held.phase == exchange.Over || held.phase > 0 && !held.givenUp && lives {
		return q, Claimed{Occurrence: o, Grant: Refused, By: held.member.Value()}
	}
	if held.phase > 0 {
		q.Generation, q.Phase, q.Attempt = next(held.generation), held.phase, held.attempt
	}
	if held.givenUp { // others may know only that its member began this attempt
		q.Attempt = min(q.Attempt, math.MaxUint16-1) + 1
	}
	if r.dead[e.asked] || r.dead[e.lostTo] {
		q.Generation = max(q.Generation, next(e.askedIn))
	}
	return q, Claimed{}
}

// next returns the generation after another one. The last generation is followed by itself.
func next(generation uint8) uint8 { return min(generation, lastGeneration-1) + 1 }

// Answer answers another member's question, and remembers the claimant.
func (r *Table) Answer(from string, q Question, now time.Time) Answer {
	asker := unique.Make(from)
	if q.Mine {
		delete(r.dead, asker)
	}
	a := r.judge(asker, q)
	if a.Reply != Free {
		return a
	}
	if c := r.claims[q.Occurrence]; c != nil && c.gaveWay == nobody {
		c.gaveWay = asker
	}
	if r.tooFar(q.Due, now) {
		return a
	}
	e := r.entry(q.Occurrence, now)
	if e.asked != asker {
		e.asked, e.askedAt = asker, now.UnixNano()
	}
	e.askedIn = max(e.askedIn, q.Generation)
	return a
}

// AskedSince returns the live member whose claim for an occurrence was granted last, if it was granted first
// after a time and no mark of that member has arrived yet. It may still wait for answers of other members.
func (r *Table) AskedSince(o exchange.Occurrence, since time.Time) string {
	e := r.entries[o]
	if e == nil || e.asked == nobody || r.dead[e.asked] || e.askedAt < since.UnixNano() {
		return ""
	}
	return e.asked.Value()
}

// AskedBy returns the member whose claim for an occurrence was granted last, if no mark of it has arrived
// yet, and the member is neither dead nor one of peers. It returns "" if there is none.
func (r *Table) AskedBy(o exchange.Occurrence, peers []string) string {
	e := r.entries[o]
	if e == nil || e.asked == nobody || r.dead[e.asked] || slices.Contains(peers, e.asked.Value()) {
		return ""
	}
	return e.asked.Value()
}

// Postpone answers another member's question that this member must not grant yet. It answers Later
// where Answer would answer Free, and remembers nothing.
func (r *Table) Postpone(from string, q Question) Answer {
	a := r.judge(unique.Make(from), q)
	if a.Reply == Free {
		a.Reply = Later
	}
	return a
}

// judge returns the answer to another member's question, and changes nothing.
func (r *Table) judge(asker name, q Question) Answer {
	a := Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: Free}
	c := r.claims[q.Occurrence]
	if c != nil && c.gaveWay == nobody && !q.Mine &&
		(c.Generation > q.Generation || c.Generation == q.Generation && r.self.Value() < asker.Value()) {
		a.Reply = Busy
		return a
	}
	e := r.entries[q.Occurrence]
	if e == nil && q.Generation == 0 && r.forgotten(q.Occurrence) {
		a.Reply = Old
		return a
	}
	if e != nil {
		for _, s := range []*state{e.holder(), &e.mine, &e.theirs} { // the claimant can learn the valid mark alone
			if s.blocks(r.self, asker, q) {
				a.Reply, a.Mark = Known, mark(q.Occurrence, s)
				return a
			}
		}
	}
	return a
}

// Receive processes the answer of a member to a question; Silent means that it did not answer in time. Each
// claim is decided at most once. The mark in a later answer counts like one in any other message.
func (r *Table) Receive(from string, a Answer, now time.Time) (Claimed, Changes) {
	c := r.claims[a.Occurrence]
	switch {
	case (c == nil || c.Serial != a.Serial) && a.Reply == Known:
		return Claimed{}, r.Learn([]Mark{a.Mark}, now)
	case c == nil || c.Serial != a.Serial:
		return Claimed{}, Changes{}
	}
	peer := unique.Make(from)
	switch i := slices.Index(c.waiting, peer); {
	case i >= 0:
		c.waiting = slices.Delete(c.waiting, i, i+1)
		if a.Reply == Silent {
			c.silent = append(c.silent, peer)
		}
	case !slices.Contains(c.silent, peer):
		return Claimed{}, Changes{}
	}
	switch {
	case a.Reply == Known:
		delete(r.claims, a.Occurrence)
		news := r.Learn([]Mark{a.Mark}, now)
		if e := r.entries[a.Occurrence]; e.release() && e.holder().givenUp { // since the answer was sent, the holder gave it up
			news.Orphans = append(news.Orphans, Report{Mark: mark(a.Occurrence, e.holder()), Tried: r.triedOf(a.Occurrence)})
		}
		return Claimed{Occurrence: a.Occurrence, Grant: Refused, By: a.Mark.Member}, news
	case a.Reply == Old:
		delete(r.claims, a.Occurrence)
		return Claimed{Occurrence: a.Occurrence, Grant: Refused}, Changes{}
	case a.Reply == Later:
		delete(r.claims, a.Occurrence)
		return Claimed{Occurrence: a.Occurrence, Grant: Postponed, By: from}, Changes{}
	case a.Reply == Busy:
		return r.fail(a.Occurrence, c.Generation, peer, now), Changes{}
	case c.gaveWay != nobody:
		return r.fail(a.Occurrence, c.Generation, c.gaveWay, now), Changes{}
	case len(c.waiting) > 0:
		return Claimed{}, Changes{}
	}
	delete(r.claims, a.Occurrence)
	return r.take(a.Occurrence, c.Generation, now), Changes{}
}

// fail ends a claim because another member has precedence. If that member dies before it sends a
// mark, it may have been granted the occurrence.
func (r *Table) fail(o exchange.Occurrence, generation uint8, to name, now time.Time) Claimed {
	delete(r.claims, o)
	e := r.entry(o, now)
	e.release()
	e.lostTo, e.askedIn = to, max(e.askedIn, generation)
	return Claimed{Occurrence: o, Grant: Refused, By: to.Value()}
}
