package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
)

// This file is what package gossip is to a real daemon: it sends the messages between the
// registers of simulated members.

// refusalDelay is that of package gossip.
const refusalDelay = 10 * time.Second

// newestTime is that of package gossip.
const newestTime = 10 * time.Second

// mostMarks is more than a simulated ring has.
const mostMarks = 1 << 20

func (n *simMember) carryOut(e holders.Effect) {
	switch e := e.(type) {
	case holders.Holdings:
		n.hold(e)
	case holders.Claim:
		n.claim(e)
	case exchange.Progress:
		n.progress(e)
	case holders.Unstarted:
		n.farewell(e)
	}
}

// tellRing passes an event of the ring to the engine.
func (n *simMember) tellRing(e holders.Event) { n.notify(fromRing{received: e}) }

// report passes changes of the table to the engine.
func (n *simMember) report(c holders.Changes) {
	if len(c.Others)+len(c.Yielded)+len(c.Doubled)+len(c.Orphans) == 0 {
		return
	}
	for _, all := range [][]holders.Report{c.Yielded, c.Doubled, c.Orphans} {
		for i := range all {
			all[i].Host, all[i].Left = all[i].Member, all[i].GivenUp || !all[i].Asks && n.parted[all[i].Member]
		}
	}
	for _, x := range c.Doubled {
		if own, ok := n.table.Own(x.Occurrence); ok {
			n.reportDouble(n.sim.of(x.Member), own)
		}
	}
	n.tellRing(c)
}

// reportDouble sends a mark to the member whose run it doubles, once that one is alive.
func (n *simMember) reportDouble(to *simMember, own holders.Mark) {
	if _, lives := n.heard[to.id]; !lives || !n.sim.connected(n, to) || to.paused {
		n.soon(time.Second, func() { n.reportDouble(to, own) })
		return
	}
	n.send(to, func() {
		if to.counts(n.id, own.Occurrence) {
			to.report(to.table.LearnDoubles([]holders.Mark{own}, to.clock()))
		}
	})
}

// remember announces what a member that starts has in its history.
func (n *simMember) remember() {
	before := n.table
	n.table = holders.New(n.id, holders.DefaultLimits)
	n.table.Started = uint32(n.life)
	if before == nil {
		return
	}
	n.table.Advance(n.saved, n.clock())
	for _, o := range slices.SortedFunc(maps.Keys(n.stored), exchange.Occurrence.Compare) {
		if m, ok := before.Own(o); ok && !m.GivenUp {
			n.table.Progress(exchange.Progress{Occurrence: o, Phase: m.Phase, Vanished: m.Vanished, Attempt: m.Attempt, Lost: m.Lost, Run: m.Run}, n.clock())
		}
	}
}

// ownMarks returns the marks of what a member took itself.
func (n *simMember) ownMarks() []holders.Mark {
	return slices.DeleteFunc(n.table.Marks(time.Time{}, mostMarks), func(m holders.Mark) bool { return m.Member != n.id })
}

// hold publishes the jobs that a member has.
func (n *simMember) hold(e holders.Holdings) {
	if n.joined {
		n.meta.edited = n.clock()
	}
	n.meta.held = map[job.Key]job.Key{}
	for _, h := range e.Holdings {
		n.meta.held[h.Key] = h.Hash
	}
	n.announce()
	n.view()
}

// announce sends this member's meta to all members.
func (n *simMember) announce() {
	said := n.meta
	for _, to := range n.sim.nodes {
		if to != n {
			n.send(to, func() { to.hear(said) })
		}
	}
}

// beat sends the heartbeat of a member every second.
func (n *simMember) beat() {
	if n.left {
		return
	}
	n.announce()
	if n.sim.now.Sub(n.savedAt) >= newestTime {
		n.saved, n.savedAt = n.table.Newest(time.Time{}), n.sim.now
	}
	for _, id := range slices.Sorted(maps.Keys(n.heard)) {
		if n.sim.now.Sub(n.heard[id]) > deadIn {
			n.bury(id)
		}
	}
	if ids := slices.Sorted(maps.Keys(n.heard)); len(ids) > 0 && n.sim.rng.IntN(3) == 0 {
		n.sync(n.sim.of(ids[n.sim.rng.IntN(len(ids))]), time.Minute)
	}
	n.soon(time.Second, n.beat)
}

func (n *simMember) hear(m meta) {
	was, known := n.peers[m.id]
	if n.heard[m.id].IsZero() && (n.parted[m.id] || n.sim.of(m.id).left) || known && m.since.Before(was.since) { // the message was on its way when the sender left or died
		return
	}
	_, alive := n.heard[m.id]
	n.heard[m.id], n.peers[m.id] = n.sim.now, m
	if known && alive && m.since.After(was.since) { // it was restarted
		n.report(holders.Changes{Orphans: n.table.Lose(m.id)})
		alive = false
	}
	if !alive {
		n.came[m.id] = n.sim.now
		n.table.Regain(m.id)
		n.sync(n.sim.of(m.id), 5*time.Minute)
	}
	if !alive || was.drains != m.drains || !maps.Equal(was.held, m.held) {
		n.view()
	}
}

// bury marks a member as dead for this one.
func (n *simMember) bury(id string) {
	n.sim.say("%s: %s is dead", n.id, id)
	delete(n.heard, id)
	n.view()
	n.report(holders.Changes{Orphans: n.table.Lose(id)})
}

// view passes the current membership to the engine.
func (n *simMember) view() {
	if !n.joined {
		return
	}
	m := &holders.Membership{Self: n.id, HoldOff: 2 * time.Second}
	all := []meta{n.meta}
	for id := range n.heard {
		all = append(all, n.peers[id])
	}
	slices.SortFunc(all, func(a, b meta) int { return strings.Compare(a.id, b.id) })
	for _, x := range all {
		member := holders.Member{ID: x.id, Name: x.id, Labels: x.labels, Weight: 1, Draining: x.drains}
		if x.id == n.id {
			member.Draining = n.idle
		} else {
			member.Lacks = n.compare(x)
		}
		m.Members = append(m.Members, member)
	}
	newest := map[job.Key]time.Time{}
	for _, x := range n.table.Newest(time.Time{}) {
		newest[x.Key] = x.Time()
	}
	n.tellRing(holders.Ring{Membership: m, Newest: newest})
}

// compare records how a member's jobs differ from this one's, and since when.
func (n *simMember) compare(x meta) map[job.Key]holders.Lack {
	lacks := map[job.Key]holders.Lack{}
	for key, hash := range n.meta.held {
		if other := x.held[key]; other != hash {
			lack := holders.Lack{Ours: hash, Theirs: other, Since: n.clock()}
			if was, ok := n.lacks[x.id][key]; ok && was.Ours == lack.Ours && was.Theirs == lack.Theirs {
				lack.Since = was.Since
			}
			lacks[key] = lack
		}
	}
	n.lacks[x.id] = lacks
	return lacks
}

// sync makes two members exchange the marks of the last time.
func (n *simMember) sync(to *simMember, age time.Duration) {
	push := func(from, to *simMember) {
		since := from.clock().Add(-age)
		marks, newest := from.table.Marks(since, mostMarks), from.table.Newest(since)
		from.send(to, func() {
			to.learn(marks...)
			to.table.Advance(slices.DeleteFunc(newest, func(m holders.Mark) bool { return !to.counts(m.Member, m.Occurrence) }), to.clock())
		})
	}
	push(n, to)
	n.send(to, func() { push(to, n) })
}

// learn applies marks of other members, as far as they count. Like package gossip it parks those of
// members whose jobs are not known yet, and applies them before later ones.
func (n *simMember) learn(marks ...holders.Mark) {
	waited := len(n.parked) > 0
	marks, n.parked = append(n.parked, marks...), nil
	var counted []holders.Mark
	for _, m := range marks {
		if _, alive := n.heard[m.Member]; !alive && !n.joined && m.Member != n.id {
			if n.parked = append(n.parked, m); !waited && len(n.parked) == 1 {
				n.soon(time.Second, func() { n.learn() })
			}
		} else if n.counts(m.Member, m.Occurrence) {
			counted = append(counted, m)
		}
	}
	n.report(n.table.Learn(counted, n.clock()))
}

// counts reports whether a member's messages about an occurrence count for this one. Like in package gossip
// they do if the member left before its jobs were known here.
func (n *simMember) counts(id string, o exchange.Occurrence) bool {
	_, holds := n.meta.held[o.Key]
	_, alive := n.heard[id]
	said, known := n.peers[id]
	if id == n.id || !holds || !known || !alive && !n.parted[id] || n.table.Holder(o) == id {
		return true
	}
	lack, lacks := n.compare(said)[o.Key]
	return !lacks || n.dated(lack, id, o.Key).HeldSame(o)
}

// dated corrects since when another member's entry differs, if this one noticed it when
// it joined.
func (n *simMember) dated(lack holders.Lack, id string, key job.Key) holders.Lack {
	if lack.Since.After(n.joinedAt.Add(holders.RolloutTime)) {
		return lack
	}
	edited, confirmed := n.meta.edited, false
	if joined := n.peers[id].since; joined.After(edited) { // it may have been edited while it was down
		edited = joined
	}
	var since time.Time
	for other, x := range n.peers {
		if other != id && !n.heard[other].IsZero() && x.held[key] == n.meta.held[key] {
			if !confirmed || x.since.Before(since) {
				since = x.since
			}
			confirmed = true
		}
		if x.edited.After(edited) {
			edited = x.edited
		}
	}
	if since.After(edited) {
		edited = since
	}
	if confirmed && edited.Before(lack.Since) {
		lack.Since = edited
	}
	return lack
}

// look records which members this one sees when it claims an occurrence.
func (n *simMember) look(o exchange.Occurrence) {
	n.views[o], n.claimed[o] = map[string]bool{n.id: true}, n.sim.now
	for id := range n.heard {
		n.views[o][id] = true
	}
}

// claim sends a claim to all live members.
func (n *simMember) claim(c holders.Claim) {
	o := c.Occurrence
	n.look(o)
	if n.parting {
		n.tellRing(holders.Claimed{Occurrence: o, Grant: holders.Postponed})
		return
	}
	peers := slices.Sorted(maps.Keys(n.heard))
	if by := n.table.AskedBy(o, peers); by != "" && n.clock().Before(n.joinedAt.Add(settle)) {
		n.tellRing(holders.Claimed{Occurrence: o, Grant: holders.Postponed, By: by})
		return
	}
	q, out := n.table.Ask(o, c.Again, peers, n.clock())
	if n.decided(out); out.Grant != holders.Undecided {
		return
	}
	for _, id := range peers {
		to := n.sim.of(id)
		n.send(to, func() {
			a := holders.Answer{Occurrence: o, Serial: q.Serial, Reply: holders.Free}
			_, sees := to.heard[n.id]
			_, holds := to.meta.held[o.Key]
			if to.joined && !to.parting && holds && !sees && to.counts(n.id, o) {
				a = to.table.Postpone(n.id, q)
			} else if to.counts(n.id, o) {
				a = to.table.Answer(n.id, q, to.clock())
			}
			to.send(n, func() { n.receive(id, a) })
		})
	}
	n.soon(patience, func() {
		for _, id := range peers {
			n.receive(id, holders.Answer{Occurrence: o, Serial: q.Serial, Reply: holders.Silent})
		}
	})
}

// receive handles the answer of a member to a claim.
func (n *simMember) receive(from string, a holders.Answer) {
	by := from
	if a.Reply == holders.Known {
		by = a.Mark.Member
	}
	if a.Reply != holders.Silent && !n.counts(by, a.Occurrence) {
		a = holders.Answer{Occurrence: a.Occurrence, Serial: a.Serial, Reply: holders.Free}
	}
	out, changes := n.table.Receive(from, a, n.clock())
	n.decided(out)
	n.report(changes)
}

// decided passes the decision on a claim to the engine, and announces a grant.
func (n *simMember) decided(c holders.Claimed) {
	if c.Grant == holders.Undecided {
		return
	}
	if m, ok := n.table.Own(c.Occurrence); ok && c.Grant == holders.Granted {
		n.post(func(to *simMember) { to.learn(m) })
	}
	n.tellRing(c)
}

func (n *simMember) progress(p exchange.Progress) {
	m, changes := n.table.Progress(p, n.clock())
	if m.GivenUp {
		n.insist(func(to *simMember) { to.learn(m) })
	}
	n.post(func(to *simMember) { to.learn(m) })
	n.report(changes)
}

// farewell broadcasts the final state of this member, and leaves. Like package gossip it waits for
// all members, but not long once one has confirmed, and longer if none has confirmed what it gives up.
func (n *simMember) farewell(u holders.Unstarted) {
	n.sim.given += len(u.Occurrences)
	given := false
	for _, x := range u.Occurrences {
		n.sim.gaveUp[givenUp{x.Occurrence, n.id}] = true
		by := n.table.Holder(x.Occurrence)
		_, gaveUp := n.table.GaveUp(x.Occurrence, by)
		if _, alive := n.heard[by]; by == "" || by == n.id || !alive || gaveUp {
			x.GivenUp = true
			n.table.Progress(x, n.clock())
			given = true
		}
	}
	own := slices.DeleteFunc(n.ownMarks(), func(m holders.Mark) bool {
		return m.Phase == exchange.Over && n.clock().Sub(m.Time()) >= time.Minute
	})
	confirmed := false
	n.insist(func(to *simMember) {
		confirmed = true
		to.learn(own...)
		to.parted[n.id] = true
		to.bury(n.id)
	})
	latest := n.sim.now.Add(finalTime)
	n.await(func() bool {
		return (confirmed || !given) && (n.untold == 0 || n.sim.now.After(latest))
	}, n.leave)
}

// finalTime is that of package gossip.
const finalTime = 3 * time.Second

// insist sends a message to all live members, and repeats it until each has received and confirmed it
// or is dead.
func (n *simMember) insist(do func(to *simMember)) {
	for _, id := range slices.Sorted(maps.Keys(n.heard)) {
		n.untold++
		n.insistWith(n.sim.of(id), do)
	}
}

func (n *simMember) insistWith(to *simMember, do func(to *simMember)) {
	if _, lives := n.heard[to.id]; !lives {
		n.untold--
		return
	}
	if n.sim.connected(n, to) && !to.paused {
		life := n.life
		n.send(to, func() {
			if do(to); n.life == life {
				n.untold--
			}
		})
		return
	}
	n.soon(time.Second, func() { n.insistWith(to, do) })
}

// drains makes a member take nothing new. It reports that to the others immediately, and
// to its own engine later, when the others have received it.
func (n *simMember) drains() {
	n.meta.drains = true
	n.sim.count()
	n.announce()
	n.view()
	n.soon(settle, func() {
		n.idle = n.meta.drains
		n.view()
	})
}

// await makes a member do something as soon as a condition is true.
func (n *simMember) await(is func() bool, do func()) {
	n.soon(100*time.Millisecond, func() {
		if is() {
			do()
		} else {
			n.await(is, do)
		}
	})
}

// leave removes a member. Members that miss its message notice its absence after a while.
func (n *simMember) leave() {
	n.sim.say("%s leaves", n.id)
	for _, to := range n.sim.nodes {
		if to != n {
			n.send(to, func() {
				if _, alive := to.heard[n.id]; alive {
					to.bury(n.id)
				}
			})
		}
	}
	n.left, n.leftAt, n.joined = true, n.sim.now, false
	n.sim.count()
	n.tellRing(holders.Ring{})
}
