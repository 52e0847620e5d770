package gossip

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
)

// Verbs about occurrences.
const (
	verbClaim  = "claim"  // request to take occurrences
	verbTell   = "tell"   // marks that the receiver must confirm
	verbMarks  = "marks"  // request for the marks since a time
	verbNewest = "newest" // request for the newest taken occurrence of each job
)

// Limits of the messages about occurrences.
const (
	claimTime    = 500 * time.Millisecond // shortest time to wait for an answer to a claim
	mostClaim    = 3 * time.Second        // longest time to wait for it
	claimTrips   = 3                      // round trips to wait for it
	packetRoom   = 1200                   // bytes of marks in a packet, so that no network fragments it
	flushTime    = 10 * time.Millisecond  // how long marks are collected for one packet
	flushPerPeer = time.Millisecond
	stateTime    = 5 * time.Second // between two encodings of the state for push/pulls
	stateAge     = 5 * time.Minute // of the marks in that state
	marksMax     = 100_000
	refusalDelay = 10 * time.Second // for members to see each other again after a network partition
)

// Claim claims occurrences from the other members. The result of each claim is an
// engine.Claimed event. In strict mode the voters decide, and Claim is not used.
func (r *Ring) Claim(claims ...engine.Claim) {
	r.box.put(func(h *heard) { h.claims = append(h.claims, claims...) })
}

// Progress reports the progress of occurrences to the others. A daemon also uses it to report its
// runs of the last day when it starts, and the occurrences that the voters granted it.
func (r *Ring) Progress(progress ...engine.Progress) {
	r.box.put(func(h *heard) { h.progress = append(h.progress, progress...) })
}

// Taken informs members that they hold occurrences, because the voters refused these to this
// member. The holders may have been restarted, and may not know it.
func (r *Ring) Taken(taken ...Holder) {
	r.box.put(func(h *heard) { h.taken = append(h.taken, taken...) })
}

// Holder is the member that holds an occurrence.
type Holder struct {
	engine.Occurrence
	Member string
}

// heldBy informs members of the occurrences that they hold. This member applies the marks
// itself only after refusalDelay. After a network partition the voters refuse its claims
// before it sees the other members again and receives the marks of ended occurrences. Until
// then these would seem to be orphaned.
func (r *Ring) heldBy(taken []Holder) {
	if len(taken) == 0 {
		return
	}
	marks := make([]register.Mark, len(taken))
	for i, t := range taken {
		marks[i] = register.Mark{Occurrence: toRegister(t.Occurrence), Member: t.Member, Phase: register.Taken}
		if m := r.members[t.Member]; m != nil && r.list != nil {
			b, _ := register.AppendMarks(nil, marks[i:i+1], packetRoom)
			// An error is as good as a lost packet.
			_ = r.list.SendToAddress(memberlist.Address{Addr: hostPort(m.addr), Name: m.id}, b)
		}
	}
	r.after(refusalDelay, func() { r.learnMarks(marks) })
}

func toRegister(o engine.Occurrence) register.Occurrence {
	return register.Occurrence{Key: o.Key, Due: o.Due.UnixNano()}
}

func toEngine(o register.Occurrence) engine.Occurrence {
	return engine.Occurrence{Key: o.Key, Due: time.Unix(0, o.Due).UTC()}
}

// claim claims occurrences. It decides locally what can be decided without the other members,
// and sends the rest to each of them in one message.
func (r *Ring) claim(claims []engine.Claim) {
	if len(claims) == 0 {
		return
	}
	now := r.o.Now()
	peers := r.alive()
	names := make([]string, len(peers))
	for i, p := range peers {
		names[i] = p.id
	}
	var questions []register.Question
	for _, c := range claims {
		o := toRegister(c.Occurrence)
		if r.list == nil || r.departing {
			r.emit(engine.Claimed{Occurrence: c.Occurrence, Grant: engine.Unknown})
			continue
		}
		q, out := r.register.Ask(o, c.Again, names, now)
		if out.Grant == register.Undecided {
			questions = append(questions, q)
			continue
		}
		r.claimed(o, out)
	}
	for part := range slices.Chunk(questions, register.MaxItems) {
		for _, p := range peers {
			r.question(p.peer(), part, p.claimTime())
		}
	}
}

func (r *Ring) claimed(o register.Occurrence, out register.Outcome) {
	c := engine.Claimed{Occurrence: toEngine(o), By: out.By}
	switch out.Grant {
	case register.Granted:
		c.Grant = engine.Granted
		r.announce(out.Mark)
	case register.Refused:
		c.Grant = engine.Refused
	case register.Postponed:
		c.Grant = engine.Unknown
	default:
		return
	}
	r.emit(c)
}

// question sends questions to one member. A member that does not answer in time does not prevent
// the claims.
func (r *Ring) question(to link.Peer, questions []register.Question, limit time.Duration) {
	body := register.AppendQuestions(nil, questions)
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		var answers []register.Answer
		b, err := r.o.Link.Ask(ctx, to, verbClaim, body)
		if err == nil {
			answers, _ = register.DecodeAnswers(b) // a malformed answer counts as none
		}
		return func() { r.answered(to.ID, questions, answers) }
	})
}

func (r *Ring) answered(from string, questions []register.Question, answers []register.Answer) {
	now := r.o.Now()
	for _, q := range questions {
		// If there was an answer, the register ignores Silent after it.
		answers = append(answers, register.Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: register.Silent})
	}
	for _, a := range answers {
		out, news := r.register.Hear(from, r.answerOf(from, a), now)
		r.claimed(a.Occurrence, out)
		r.report(news)
	}
}

func (r *Ring) answerClaim(ctx context.Context, from string, body []byte) ([]byte, error) {
	questions, err := register.DecodeQuestions(body)
	if err != nil {
		return nil, err
	}
	var b []byte
	err = r.do(ctx, func() error {
		answers := make([]register.Answer, len(questions))
		for i, q := range questions {
			answers[i] = r.answerTo(from, q)
		}
		b = register.AppendAnswers(nil, answers)
		return nil
	})
	return b, err
}

func (r *Ring) progress(all []engine.Progress) {
	now := r.o.Now()
	for _, p := range all {
		m, news := r.register.Progress(toRegister(p.Occurrence), stepOf(p), now)
		r.announce(m)
		r.report(news)
	}
}

// stepOf converts the progress that the engine reports. It does not count the attempt of a run
// that is still waiting.
func stepOf(p engine.Progress) register.Step {
	attempt := p.Attempt
	if p.Phase == engine.Taken {
		attempt--
	}
	s := register.Step{Attempt: uint16(min(max(attempt, 0), math.MaxUint16))}
	s.Lost = uint8(min(max(p.Lost, 0), int(s.Attempt), math.MaxUint8))
	s.Phase = register.Phase(p.Phase)
	s.Vanished = p.Phase > engine.Taken && (p.Verdict == job.VerdictLost || p.Verdict == job.VerdictLeft)
	if p.Phase != engine.Taken {
		s.Run = int64(p.Run)
	}
	return s
}

// announce sends a mark to the other members.
func (r *Ring) announce(m register.Mark) {
	r.marked = true
	if !r.joined {
		return // the others request it when they need it
	}
	if len(r.marks) == 0 {
		r.after(flushTime+time.Duration(len(r.members))*flushPerPeer, r.flush)
	}
	r.marks = append(r.marks, m)
}

// flush sends marks to all members, in packets that may be lost. A member that missed a mark
// receives it in the answer when it claims the occurrence.
func (r *Ring) flush() {
	peers := r.alive()
	for len(r.marks) > 0 {
		b, n := register.AppendMarks(nil, r.marks, packetRoom)
		r.marks = r.marks[n:]
		if r.list == nil {
			continue
		}
		for _, p := range peers {
			// An error is as good as a lost packet.
			_ = r.list.SendToAddress(memberlist.Address{Addr: hostPort(p.addr), Name: p.id}, b)
		}
	}
	r.marks = nil
}

// hearMarks processes the marks from packets and from push/pulls.
func (r *Ring) hearMarks(messages [][]byte) {
	for _, b := range messages {
		marks, err := register.DecodeMarks(b)
		if err != nil {
			continue
		}
		r.marked = true
		r.learnMarks(marks)
	}
}

// report sends news to the engine.
func (r *Ring) report(n register.News) {
	if len(n.Others) > 0 {
		var others engine.Others
		if last := len(r.out) - 1; last >= 0 {
			if o, ok := r.out[last].(engine.Others); ok {
				others, r.out = o, r.out[:last]
			}
		}
		for _, o := range n.Others {
			others.Occurrences = append(others.Occurrences, toEngine(o))
			r.elsewhere.note(r.roster.Load(), o, r.hostOf(r.register.Holder(o)))
		}
		r.emit(others)
	}
	for _, m := range n.Deprived {
		r.emit(engine.Deprived{Occurrences: []engine.Occurrence{toEngine(m.Occurrence)}, By: m.Member})
	}
	for _, m := range n.Doubled {
		r.emit(engine.Doubled{Occurrence: toEngine(m.Occurrence), Host: r.hostOf(m.Member), Run: job.RunID(m.Run)})
		// The packet that reported the run on this host may have been lost.
		if own, ok := r.register.Own(m.Occurrence); ok && r.members[m.Member] != nil {
			b, _ := register.AppendMarks(wire.AppendTime(nil, time.Time{}), []register.Mark{own}, packetRoom)
			r.members[m.Member].unconfirmed = append(r.members[m.Member].unconfirmed, b)
		}
	}
	if len(n.Doubled) > 0 {
		r.sendUnconfirmed()
	}
	r.orphaned(n.Orphans)
}

// orphaned reports the occurrences of dead members to the engine.
func (r *Ring) orphaned(marks []register.Mark) {
	by := make(map[string][]engine.Orphan)
	var order []string
	for _, m := range marks {
		if by[m.Member] == nil {
			order = append(order, m.Member)
		}
		by[m.Member] = append(by[m.Member], engine.Orphan{
			Occurrence: toEngine(m.Occurrence), Phase: engine.Phase(m.Phase), Attempt: int(m.Attempt), Lost: int(m.Lost),
		})
	}
	for _, id := range order {
		m := r.members[id]
		r.emit(engine.Orphaned{Member: id, Orphans: by[id], Left: m != nil && m.state == Left})
	}
}

// lose lets others take over a member's occurrences, because it died or was restarted.
func (r *Ring) lose(m *member) { r.orphaned(r.register.Lose(m.id)) }

// renew encodes the state for push/pulls: the newest marks, up to the size limit.
func (r *Ring) renew(now time.Time) {
	if !r.marked || now.Sub(r.renewed) < stateTime {
		return
	}
	r.marked, r.renewed = false, now
	marks := r.register.Marks(now.Add(-stateAge), register.MaxItems)
	b, _ := register.AppendMarks(nil, marks, maxState)
	r.state.Store(&b)
}
