package gossip

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
)

// Verbs about occurrences.
const (
	verbClaim  = "claim"  // may this member take them?
	verbGiven  = "given"  // what a member gave away, in a message of marks
	verbLast   = "last"   // the last words of a member that leaves, likewise
	verbMarks  = "marks"  // who took what, since when
	verbNewest = "newest" // the newest that was taken, of each job
)

// Bounds on what is told of occurrences.
const (
	claimTime    = 500 * time.Millisecond // for an answer to a late claim
	packetRoom   = 1200                   // of marks in a packet, which no network cuts up
	flushTime    = 10 * time.Millisecond  // that marks wait for others to go with them
	flushPerPeer = time.Millisecond
	stateTime    = 5 * time.Second // between states for push/pulls
	stateAge     = 5 * time.Minute // of the marks in them
	marksAge     = 24 * time.Hour  // of those that a member asks for that was away
	marksMax     = 100_000
	marksPage    = 6    // messages in an answer
	marksPart    = 1500 // marks in such a message, so that it fits whoever they are of
	learnFrom    = 3    // members, when this one comes
	learnTime    = 2 * time.Second
	mostLearning = 4                // members that are asked at a time
	doubtTime    = 10 * time.Second // for members to see each other again, of which one was cut off
	apartMargin  = time.Minute
	retellPause  = 200 * time.Millisecond
	lastAge      = time.Minute // of what last words are about: what is older came around
)

// Claim takes occurrences, or asks the others for them. Each is answered by an
// engine.Claimed. Those that the voters are to grant are not for a Ring.
func (r *Ring) Claim(claims ...engine.Claim) {
	r.box.put(func(h *heard) { h.claims = append(h.claims, claims...) })
}

// Progress tells the others how far occurrences are. It is also how a daemon
// that starts tells of its runs of the last day, and how it tells of what the
// voters granted it.
func (r *Ring) Progress(progress ...engine.Progress) {
	r.box.put(func(h *heard) { h.progress = append(h.progress, progress...) })
}

// HandOver gives away what this member took and has not begun. Each is answered by
// an engine.HandedOver. What the voters granted they are to take back first.
func (r *Ring) HandOver(given ...engine.HandOver) {
	r.box.put(func(h *heard) { h.given = append(h.given, given...) })
}

// Taken tells members that they have occurrences, which the voters did not grant to
// this one: they may have been started anew since, and not know.
func (r *Ring) Taken(taken ...Holder) {
	r.box.put(func(h *heard) { h.taken = append(h.taken, taken...) })
}

// Holder is the member that has an occurrence.
type Holder struct {
	engine.Occurrence
	Member string
}

// heldBy tells members what they have. This one takes that in later:
// who was cut off is refused before it sees again who is there, and hears from them
// what has ended, which would seem to be orphaned.
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
	r.after(doubtTime, func() { r.report(r.register.Learn(marks, r.o.Now())) })
}

func toRegister(o engine.Occurrence) register.Occurrence {
	return register.Occurrence{Key: o.Key, Due: o.Due.UnixNano()}
}

func toEngine(o register.Occurrence) engine.Occurrence {
	return engine.Occurrence{Key: o.Key, Due: time.Unix(0, o.Due).UTC()}
}

// claim decides what can be decided here, and asks the others for the rest.
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
		var out register.Outcome
		switch {
		case r.list == nil:
			r.emit(engine.Claimed{Occurrence: c.Occurrence, Grant: engine.Unknown})
			continue
		case !c.Late && !c.Again:
			out = r.register.Take(o, now)
		}
		if out.Grant == register.Undecided {
			var q register.Question
			if q, out = r.register.Ask(o, c.Again, names, now); out.Grant == register.Undecided {
				questions = append(questions, q)
				continue
			}
		}
		r.claimed(o, out)
	}
	for part := range slices.Chunk(questions, register.MaxItems) {
		for _, p := range peers {
			r.question(p.peer(), part)
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
	default:
		return
	}
	r.emit(c)
}

// question asks one member for occurrences. Who does not answer in time is no
// reason not to take them.
func (r *Ring) question(to link.Peer, questions []register.Question) {
	body := register.AppendQuestions(nil, questions)
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, claimTime)
		defer cancel()
		var answers []register.Answer
		b, err := r.o.Link.Ask(ctx, to, verbClaim, body)
		if err == nil {
			answers, _ = register.DecodeAnswers(b) // what makes no sense is no answer
		}
		return func() { r.answered(to.ID, questions, answers) }
	})
}

func (r *Ring) answered(from string, questions []register.Question, answers []register.Answer) {
	now := r.o.Now()
	for _, q := range questions {
		// An answer that was heard makes the register deaf to the silence behind it.
		answers = append(answers, register.Answer{Occurrence: q.Occurrence, Serial: q.Serial, Reply: register.Silent})
	}
	for _, a := range answers {
		out, news := r.register.Hear(from, a, now)
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
		now := r.o.Now()
		for i, q := range questions {
			answers[i] = r.register.Answer(from, q, now)
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

// give gives occurrences away, if there is somebody to take them. It is told at once
// as all marks are; and over the link, again and again, until each member has
// answered: who is about to leave cannot be asked later on.
func (r *Ring) give(all []engine.HandOver) {
	if len(all) == 0 {
		return
	}
	now, peers := r.o.Now(), r.alive()
	for _, h := range all {
		var m register.Mark
		ok := r.list != nil && len(peers) > 0
		if ok {
			m, ok = r.register.Give(toRegister(h.Occurrence), attemptsOf(h.Attempt, h.Lost), now)
		}
		r.emit(engine.HandedOver{Occurrence: h.Occurrence, Done: ok})
		if !ok {
			continue
		}
		r.announce(m)
		for _, p := range peers {
			p.owed = append(p.owed, m)
		}
	}
	r.insist()
}

// insist tells members what they have not heard for sure.
func (r *Ring) insist() {
	for _, m := range r.alive() {
		if !m.isOwed() || m.telling || time.Now().Before(m.retell) {
			continue
		}
		verb, last := verbGiven, m.owedLast
		if last {
			verb = verbLast
		}
		body, n := register.AppendMarks(nil, m.owed, link.MaxBody)
		told, to := m.owed[:n], m.peer()
		m.telling, m.owed, m.owedLast = true, m.owed[n:], false // it may go meanwhile, and is owed nothing then
		r.help(func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, claimTime)
			defer cancel()
			_, err := r.o.Link.Ask(ctx, to, verb, body)
			return func() {
				m.telling = false
				if err != nil && m.state == Alive {
					m.owed, m.owedLast = slices.Concat(told, m.owed), last || m.owedLast
					m.retell = time.Now().Add(retellPause)
				}
				r.insist()
			}
		})
	}
}

// owes tells whether a member that is there has not heard of all that it is to hear
// for sure.
func (r *Ring) owes() bool {
	return slices.ContainsFunc(r.alive(), func(m *member) bool { return m.isOwed() || m.telling })
}

// takeLeave has the others hear for sure that this member leaves, and how far it is
// with what it took of late. Packets said so before, but may have been lost; and who
// knows nothing of a run, or that it was taken only, has nobody left to ask.
func (r *Ring) takeLeave() {
	own := slices.DeleteFunc(r.register.Marks(r.o.Now().Add(-lastAge), marksMax), func(m register.Mark) bool {
		return m.Member != r.o.ID
	})
	for _, p := range r.alive() {
		p.owed, p.owedLast = slices.Concat(p.owed, own), true
	}
	r.insist()
}

func (r *Ring) answerGiven(ctx context.Context, _ string, body []byte) ([]byte, error) {
	marks, err := register.DecodeMarks(body)
	if err != nil {
		return nil, err
	}
	return nil, r.do(ctx, func() error {
		r.marked = true
		r.report(r.register.Learn(marks, r.o.Now()))
		return nil
	})
}

func (r *Ring) answerLast(ctx context.Context, from string, body []byte) ([]byte, error) {
	err := r.do(ctx, func() error {
		if m := r.members[from]; m != nil {
			m.parted = m.meta.since
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.answerGiven(ctx, from, body)
}

// stepOf is what the register is to know of an engine's word. A run that waits is
// an attempt that has not begun.
func stepOf(p engine.Progress) register.Step {
	attempt := p.Attempt
	if p.Phase == engine.Taken {
		attempt--
	}
	s := attemptsOf(attempt, p.Lost)
	s.Phase = register.Phase(p.Phase)
	s.Vanished = p.Phase > engine.Taken && (p.Verdict == job.VerdictLost || p.Verdict == job.VerdictLeft)
	if p.Phase != engine.Taken {
		s.Run = int64(p.Run)
	}
	return s
}

// attemptsOf is a step with the attempts that began.
func attemptsOf(attempt, lost int) (s register.Step) {
	s.Attempt = uint16(min(max(attempt, 0), math.MaxUint16))
	s.Lost = uint8(min(max(lost, 0), int(s.Attempt), math.MaxUint8))
	return s
}

// announce has the others hear of a mark.
func (r *Ring) announce(m register.Mark) {
	r.marked = true
	if !r.joined {
		return // who is there then asks
	}
	if len(r.marks) == 0 {
		r.after(flushTime+time.Duration(len(r.members))*flushPerPeer, r.flush)
	}
	r.marks = append(r.marks, m)
}

// flush sends marks to all members, by packets that may get lost: who has not
// heard of one when it matters asks.
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

// hearMarks takes in packets and the states of push/pulls.
func (r *Ring) hearMarks(messages [][]byte) {
	now := r.o.Now()
	for _, b := range messages {
		marks, err := register.DecodeMarks(b)
		if err != nil {
			continue
		}
		r.marked = true
		r.report(r.register.Learn(marks, now))
	}
}

// report has the engine hear of what was learned.
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
		r.emit(engine.Doubled{Occurrence: toEngine(m.Occurrence), Member: m.Member, Run: job.RunID(m.Run)})
	}
	r.orphaned(n.Orphans)
}

// orphaned has the engine hear of what members took that are gone, or gave away.
func (r *Ring) orphaned(marks []register.Mark) {
	by := make(map[string][]engine.Orphan)
	var order []string
	for _, m := range marks {
		if by[m.Member] == nil {
			order = append(order, m.Member)
		}
		by[m.Member] = append(by[m.Member], engine.Orphan{
			Occurrence: toEngine(m.Occurrence), Phase: engine.Phase(m.Phase), Attempt: int(m.Attempt), Lost: int(m.Lost), Given: m.Given,
		})
	}
	for _, id := range order {
		r.emit(engine.Orphaned{Member: id, Orphans: by[id]})
	}
}

// lose has what a member took be taken by others, as it is gone or was started
// anew.
func (r *Ring) lose(m *member) { r.orphaned(r.register.Lose(m.id)) }

// renew prepares what push/pulls carry: the newest marks, as many as fit.
func (r *Ring) renew(now time.Time) {
	if !r.marked || now.Sub(r.renewed) < stateTime {
		return
	}
	r.marked, r.renewed = false, now
	marks := r.register.Marks(now.Add(-stateAge), register.MaxItems)
	b, _ := register.AppendMarks(nil, marks, maxState)
	r.state.Store(&b)
}

// learn asks a member for all that it knows of since this one and it were apart.
func (r *Ring) learn(m *member, since time.Time) {
	now := r.o.Now()
	if oldest := now.Add(-marksAge); since.Before(oldest) {
		since = oldest
	}
	r.lessons = append(r.lessons, lesson{from: m.peer(), ago: now.Sub(since) + apartMargin})
	r.study()
}

// lesson is a member that is to be asked, and for how long ago.
type lesson struct {
	from link.Peer
	ago  time.Duration
}

func (r *Ring) study() {
	for len(r.lessons) > 0 && r.studying < mostLearning {
		l := r.lessons[0]
		r.lessons = r.lessons[1:]
		r.studying++
		own := encodeEvenings(r.evenings)
		r.help(func(ctx context.Context) func() {
			ctx, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			evenings, err := r.askEvenings(ctx, l.from, own)
			var marks []register.Mark
			var newest []register.Occurrence
			if err == nil {
				marks, newest, err = r.interview(ctx, l)
			}
			return func() {
				r.adopt(evenings)
				r.learned(l, marks, newest, err)
			}
		})
	}
}

func (r *Ring) learned(l lesson, marks []register.Mark, newest []register.Occurrence, err error) {
	r.studying--
	now := r.o.Now()
	if err != nil {
		r.o.Log.Warn("ring: member does not say what it took", "member", l.from.ID, "err", err)
	} else {
		r.taught++
		r.marked = true
	}
	r.report(r.register.Learn(marks, now))
	r.register.Advance(newest, now)
	r.changed = true
	r.study()
}

// interview collects a member's answers, page by page.
func (r *Ring) interview(ctx context.Context, l lesson) (marks []register.Mark, newest []register.Occurrence, err error) {
	err = r.pages(ctx, l, verbMarks, func(message []byte) error {
		part, err := register.DecodeMarks(message)
		marks = append(marks, part...)
		return err
	})
	if err == nil {
		err = r.pages(ctx, l, verbNewest, func(message []byte) error {
			part, err := register.DecodeNewest(message)
			newest = append(newest, part...)
			return err
		})
	}
	return marks, newest, err
}

// mostPages bounds what one member can make another one read.
const mostPages = 64

func (r *Ring) pages(ctx context.Context, l lesson, verb string, take func([]byte) error) error {
	skip := uint32(0)
	for range mostPages {
		body := binary.BigEndian.AppendUint64(nil, uint64(l.ago))
		b, err := r.o.Link.Ask(ctx, l.from, verb, appendUint32(body, skip))
		if err != nil {
			return err
		}
		next, messages, err := decodeMessages(b)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := take(m); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		if next <= skip {
			return errWire
		}
		skip = next
	}
	return nil
}

// decodeMessages takes an answer of answerPages apart.
func decodeMessages(b []byte) (next uint32, messages [][]byte, err error) {
	r := reader{rest: b}
	next = r.uint32()
	for len(r.rest) > 0 && !r.bad && len(messages) < marksPage {
		messages = append(messages, r.take(int(r.uint32())))
	}
	return next, messages, r.end()
}

// answerPages serves what a member was told since some time ago, from an item on,
// in messages of which each is behind its length, behind the number of the item
// that comes then.
func answerPages[T any](r *Ring, ctx context.Context, body []byte, each int, all func(since time.Time) []T, message func([]T) []byte) ([]byte, error) {
	in := reader{rest: body}
	ago, skip := time.Duration(in.uint64()), int(in.uint32())
	if err := in.end(); err != nil || ago < 0 {
		return nil, errWire
	}
	var items []T
	err := r.do(ctx, func() error {
		items = all(r.o.Now().Add(-ago))
		return nil
	})
	if err != nil {
		return nil, err
	}
	rest := items[min(skip, len(items)):]
	b := make([]byte, 4)
	for range marksPage {
		if len(rest) == 0 {
			return b, nil
		}
		part := rest[:min(len(rest), each)]
		rest = rest[len(part):]
		m := message(part)
		b = append(appendUint32(b, uint32(len(m))), m...)
	}
	if len(rest) > 0 {
		binary.BigEndian.PutUint32(b, uint32(len(items)-len(rest)))
	}
	return b, nil
}

func (r *Ring) answerMarks(ctx context.Context, _ string, body []byte) ([]byte, error) {
	return answerPages(r, ctx, body, marksPart, func(since time.Time) []register.Mark {
		return r.register.Marks(since, marksMax)
	}, func(part []register.Mark) []byte {
		b, _ := register.AppendMarks(nil, part, link.MaxBody/marksPage)
		return b
	})
}

func (r *Ring) answerNewest(ctx context.Context, _ string, body []byte) ([]byte, error) {
	return answerPages(r, ctx, body, register.MaxItems, func(since time.Time) []register.Occurrence {
		return r.register.Newest(since)
	}, func(part []register.Occurrence) []byte {
		return register.AppendNewest(nil, part)
	})
}

// enroll asks some members what was taken while this one was not there.
func (r *Ring) enroll() {
	peers := r.alive()
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	for _, m := range peers[:min(len(peers), learnFrom)] {
		r.learn(m, time.Time{})
	}
	r.enrolled = true
	r.learnBy = time.Now().Add(learnTime)
}
