package gossip

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/holders"
)

// Verbs about occurrences.
const (
	verbClaim   = "claim"  // request to take occurrences
	verbConfirm = "final"  // marks of the final state, which the receiver must confirm
	verbDoubles = "double" // marks of runs that double the receiver's
	verbMarks   = "marks"  // request for the marks since a time
	verbNewest  = "newest" // request for the newest taken occurrence of each job
)

// Limits of the messages about occurrences.
const (
	leastClaim   = 500 * time.Millisecond // shortest time to wait for an answer to a claim
	mostClaim    = 3 * time.Second        // longest time to wait for it
	claimTrips   = 3                      // round trips, or slowest answers, to wait for it
	slowTime     = 10 * time.Second       // how long a slow answer, or a member that joined, counts
	packetRoom   = 1200                   // bytes of marks in a packet, so that no network fragments it
	flushTime    = 10 * time.Millisecond  // how long marks are collected for one packet
	flushPerPeer = time.Millisecond
	stateTime    = 5 * time.Second // between two encodings of the state for push/pulls
	stateAge     = 5 * time.Minute // of the marks in that state
	stateRoom    = 16 << 10        // bytes of marks in it, which members exchange about four times a minute
	marksMax     = 100_000
	refusalDelay = 10 * time.Second // for members to see each other again after a network partition

	mostUnconfirmed = 1000 // messages to a member
)

// spread is what this member sends to the others about occurrences.
type spread struct {
	marks   map[exchange.Occurrence]holders.Mark // this member's newest marks that are not sent yet
	changed bool                                 // table has changed since the state was encoded
	encoded time.Time
}

// Decided reports the voters' answers to this member's claims, in order, and announces what they
// granted.
func (r *Ring) Decided(answers []holders.Claimed) {
	r.box.Post(func() {
		var refused []holders.Claimed
		for _, a := range answers {
			switch {
			case a.Grant == holders.Granted:
				r.progress(exchange.Progress{Occurrence: a.Occurrence, Phase: exchange.Taken})
			case a.Grant == holders.Refused && a.By != "":
				refused = append(refused, a)
			}
			r.emit(a)
		}
		r.refused(refused)
	})
}

// refused informs members of the occurrences that they hold, because the voters refused these to
// this member. The holder may have been restarted, and may not know it. This member applies the marks
// itself only after refusalDelay. After a network partition the voters refuse its claims
// before it sees the other members again and receives the marks of ended occurrences. Until
// then these would seem to be orphaned.
func (r *Ring) refused(claims []holders.Claimed) {
	if len(claims) == 0 {
		return
	}
	var marks []holders.Mark
	for i, c := range claims {
		marks = append(marks, holders.Mark{Occurrence: c.Occurrence, Member: c.By, Phase: exchange.Taken})
		if m := r.members[c.By]; m != nil {
			r.send(m, marks[i:])
		}
	}
	r.after(refusalDelay, func() {
		r.learnMarks(marks)
		for _, c := range claims {
			if c.GaveUp > 0 {
				r.report(r.table.TookBack(c.Occurrence, c.By, c.GaveUp))
			}
		}
	})
}

// send sends as many marks as fit into a packet, which may be lost, and returns their number.
func (r *Ring) send(to *member, marks []holders.Mark) (sent int) {
	b, sent := holders.AppendMarks(nil, marks, packetRoom)
	if r.list != nil {
		// An error is as good as a lost packet.
		_ = r.list.SendToAddress(memberlist.Address{Addr: to.addr.String(), Name: to.id}, b)
	}
	return sent
}

// claim claims occurrences. It decides locally what can be decided without the other members,
// and sends the rest to each of them in one message. If this host has just joined, it may not see yet
// a member whose claim it granted before that. It claims the occurrence when it sees that member. If
// members answer so slowly that the hold-off is over before a claim is decided, the next member that could
// claim the occurrence waits, because it would wait for the same answers, and the start would be later.
func (r *Ring) claim(claims []holders.Claim) {
	if len(claims) == 0 {
		return
	}
	now := r.o.Now()
	peers := r.alive()
	names, longest := make([]string, len(peers)), time.Duration(0)
	for i, p := range peers {
		names[i], longest = p.id, max(longest, r.claimTime(p))
	}
	var questions []holders.Question
	for _, c := range claims {
		if r.list == nil || r.stage.exit >= departing {
			r.emit(holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Postponed})
			continue
		}
		if by := r.table.AskedBy(c.Occurrence, names); by != "" && r.isNew() {
			r.emit(holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Postponed, By: by})
			continue
		}
		if by := r.table.AskedSince(c.Occurrence, now.Add(-longest)); by != "" && longest > r.own.Rules.HoldOff && !c.Again {
			r.emit(holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Postponed, By: by})
			continue
		}
		q, out := r.table.Ask(c.Occurrence, c.Again, names, now)
		if out.Grant == holders.Undecided {
			questions = append(questions, q)
		}
		r.claimed(out)
	}
	for part := range slices.Chunk(questions, holders.MaxItems) {
		for _, p := range peers {
			r.question(p, part)
		}
	}
}

// claimed reports the result of a claim, if there is one.
func (r *Ring) claimed(c holders.Claimed) {
	if c.Grant == holders.Undecided {
		return
	}
	if m, ok := r.table.Own(c.Occurrence); ok && c.Grant == holders.Granted {
		r.announce(m)
	}
	r.emit(c)
}

// question sends questions to one member. A member that does not answer in time does not prevent
// the claims. After an answer that comes too late, the next claims wait longer; see claimTime.
func (r *Ring) question(m *member, questions []holders.Question) {
	body := holders.AppendQuestions(nil, questions)
	to, limit := m.peer(), r.claimTime(m)
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, mostClaim)
		defer cancel()
		late := time.AfterFunc(limit, func() { r.box.Post(func() { r.answered(to.ID, questions, nil) }) })
		defer late.Stop()
		begun := time.Now()
		var answers []holders.Answer
		b, err := r.o.Link.Ask(ctx, to, verbClaim, body)
		if err == nil {
			answers, _ = holders.DecodeAnswers(b) // a malformed answer counts as none
		}
		took := time.Since(begun)
		return func() {
			if err == nil {
				m.noteAnswer(took)
			}
			r.answered(to.ID, questions, answers)
		}
	})
}

// claimTime returns how long to wait for a member's answer to a claim. If an answer comes later, the
// occurrence can run twice. If the member is dead, the start waits for nothing. Hosts are busy while
// members join, and then they answer slowly.
func (r *Ring) claimTime(m *member) time.Duration {
	if time.Since(r.joinAt) < slowTime {
		return mostClaim
	}
	slowest := m.samples.Slowest()
	if time.Since(m.slowAt) < slowTime {
		slowest = max(slowest, m.slowest)
	}
	return min(max(leastClaim, claimTrips*slowest), mostClaim)
}

// noteAnswer notes how long a member took to answer a claim.
func (m *member) noteAnswer(took time.Duration) {
	if took >= m.slowest || time.Since(m.slowAt) >= slowTime {
		m.slowest, m.slowAt = took, time.Now()
	}
}

func (r *Ring) answered(from string, questions []holders.Question, answers []holders.Answer) {
	now := r.o.Now()
	for _, q := range questions {
		// If there was an answer, the table ignores Silent after it.
		answers = append(answers, holders.Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: holders.Silent})
	}
	for _, a := range answers {
		out, news := r.table.Receive(from, r.answerOf(from, a), now)
		r.claimed(out)
		r.report(news)
	}
}

func (r *Ring) answerClaim(ctx context.Context, from string, body []byte) ([]byte, error) {
	questions, err := holders.DecodeQuestions(body)
	if err != nil {
		return nil, err
	}
	var b []byte
	err = r.do(ctx, func() error {
		answers := make([]holders.Answer, len(questions))
		for i, q := range questions {
			answers[i] = r.answerTo(from, q)
		}
		b = holders.AppendAnswers(nil, answers)
		return nil
	})
	return b, err
}

// announce sends a mark to the other members.
func (r *Ring) announce(m holders.Mark) {
	r.spread.changed = true
	if r.stage.entry != joined {
		return // the others request it when they need it
	}
	if len(r.spread.marks) == 0 {
		r.after(flushTime+time.Duration(len(r.members))*flushPerPeer, r.flush)
	}
	r.spread.marks[m.Occurrence] = m
}

// flush sends marks to all members, in packets that may be lost. A member that missed a mark
// receives it in the answer when it claims the occurrence.
func (r *Ring) flush() {
	marks := slices.Collect(maps.Values(r.spread.marks))
	clear(r.spread.marks)
	for _, p := range r.alive() {
		for rest := marks; len(rest) > 0; {
			rest = rest[r.send(p, rest):]
		}
	}
}

// answerDoubles accepts marks of runs that double those of this host.
func (r *Ring) answerDoubles(ctx context.Context, _ string, body []byte) ([]byte, error) {
	marks, err := holders.DecodeMarks(body)
	if err != nil {
		return nil, err
	}
	return nil, r.do(ctx, func() error {
		r.spread.changed = true
		counted := slices.DeleteFunc(marks, func(m holders.Mark) bool { return r.judgeReport(m.Member, m.Occurrence) == ignored })
		r.report(r.table.LearnDoubles(counted, r.o.Now()))
		return nil
	})
}

// receiveMarks processes the marks from packets and from push/pulls.
func (r *Ring) receiveMarks(messages [][]byte) {
	for _, b := range messages {
		marks, err := holders.DecodeMarks(b)
		if err != nil {
			continue
		}
		r.spread.changed = true
		r.learnMarks(marks)
	}
}

// report sends news to the engine, together with queued news of occurrences that others took.
func (r *Ring) report(n holders.Changes) {
	if len(n.Others)+len(n.Yielded)+len(n.Doubled)+len(n.Orphans) == 0 {
		return
	}
	for _, o := range n.Others {
		_, has := r.roster.Load().Find(o.Key)
		by := r.hostOf(r.table.Holder(o)) // "" if the table had no space for it
		if due, _, ok := r.Newest(o.Key); has && by != "" && (!ok || o.Time().After(due)) {
			r.elsewhere.Store(o.Key, elsewhere{o.Due, by})
		}
	}
	for _, all := range [][]holders.Report{n.Yielded, n.Doubled, n.Orphans} {
		for i := range all {
			m := r.members[all[i].Member]
			all[i].Host, all[i].Left = r.hostOf(all[i].Member), all[i].GivenUp || !all[i].Asks && m != nil && m.state == Left
		}
	}
	for _, x := range n.Doubled {
		// The packet that reported the run on this host may have been lost, or seem to be of a lost run.
		own, ok := r.table.Own(x.Occurrence)
		if m := r.members[x.Member]; ok && m != nil && len(m.unconfirmed) < mostUnconfirmed {
			b, _ := holders.AppendMarks(nil, []holders.Mark{own}, packetRoom)
			m.unconfirmed = append(m.unconfirmed, message{verbDoubles, b})
		}
	}
	if len(n.Doubled) > 0 {
		r.sendUnconfirmed()
	}
	if last := len(r.outbox.queue) - 1; last >= 0 {
		if o, ok := r.outbox.queue[last].(holders.Changes); ok && len(o.Yielded)+len(o.Doubled)+len(o.Orphans) == 0 {
			n.Others, r.outbox.queue = append(o.Others, n.Others...), r.outbox.queue[:last]
		}
	}
	r.emit(n)
}

// lose lets others take over a member's occurrences, because it died or was restarted.
func (r *Ring) lose(m *member) { r.report(holders.Changes{Orphans: r.table.Lose(m.id)}) }

// renew encodes the state for push/pulls: the marks of the last minutes, up to the size limit. Marks of
// ended occurrences come last: they matter only if the packets with them were lost and the member dies.
func (r *Ring) renew(now time.Time) {
	if !r.spread.changed || now.Sub(r.spread.encoded) < stateTime {
		return
	}
	r.spread.changed, r.spread.encoded = false, now
	marks := r.table.Marks(now.Add(-stateAge), holders.MaxItems)
	slices.SortStableFunc(marks, func(a, b holders.Mark) int { return cmp.Compare(a.Phase, b.Phase) })
	b, _ := holders.AppendMarks(nil, marks, stateRoom)
	r.state.Store(&b)
}
