package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/register"
)

// retellPause is between two attempts to tell a member what it is to hear.
const retellPause = 200 * time.Millisecond

// HandOver gives away what this member took and has not begun. Each is answered by
// an engine.HandedOver. What the voters granted they are to take back first.
func (r *Ring) HandOver(given ...engine.HandOver) {
	r.box.put(func(h *heard) { h.given = append(h.given, given...) })
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
		ok := r.list != nil && len(peers) > 0 && !r.departing
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

func (r *Ring) answerGiven(ctx context.Context, _ string, body []byte) ([]byte, error) {
	marks, err := register.DecodeMarks(body)
	if err != nil {
		return nil, err
	}
	return nil, r.do(ctx, func() error {
		r.marked = true
		r.learnMarks(marks)
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
