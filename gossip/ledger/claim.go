package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/link"
)

// Claim claims occurrences for this member, and waits for the answers until the context ends,
// for half a minute at most. Claims without an answer are Unknown: they may have been granted,
// and can be repeated.
//
// An occurrence that was granted to this member before is granted again, with a greater token.
// If the claim has Again set, an occurrence of another member is granted, provided that this
// host has that member's mark of giving it up, or that From names the member, which this host sees
// as gone. What that member was granted after a later start than the one in which it gave the
// occurrence up is refused. A refused occurrence without a holder is too old.
//
// An occurrence that was granted for another entry is claimed under a key of its own, if its
// holder's claims do not count here, see Options.Foreign.
func (l *Ledger) Claim(ctx context.Context, claims []holders.Claim) []holders.Claimed {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	answers := make([]holders.Claimed, 0, len(claims))
	for chunk := range slices.Chunk(claims, mostClaims) {
		answers = append(answers, l.claim(ctx, chunk)...)
	}
	return answers
}

// claim claims as many occurrences as an entry holds.
func (l *Ledger) claim(ctx context.Context, claims []holders.Claim) []holders.Claimed {
	b := batch{claimant: l.o.ID, started: l.o.Started}
	results := make([]result, len(claims))
	for i, c := range claims {
		one := l.claimOf(c.Occurrence)
		b.claims = append(b.claims, one)
		results[i].grant = holders.Postponed
	}
	l.repeat(ctx, b, results, func(i int) (claim, bool) { return b.claims[i], true })
	l.repeat(ctx, b, results, func(i int) (claim, bool) {
		if !results[i].other {
			return claim{}, false
		}
		foreign, err := l.o.Foreign(ctx, results[i].by, claims[i].Occurrence)
		if err != nil {
			results[i] = result{grant: holders.Postponed}
		}
		return b.claims[i].apart(), foreign && err == nil
	})
	l.repeat(ctx, b, results, func(i int) (claim, bool) {
		r, c := results[i], b.claims[i]
		if !claims[i].Again || r.grant != holders.Refused || r.by == "" {
			return c, false
		}
		c.from, c.gaveUp = r.by, claims[i].GaveUp
		started, gaveUp := l.o.GaveUp(ctx, r.by, claims[i].Occurrence)
		if gaveUp {
			c.gaveUp = started
		}
		return c, gaveUp || r.by == claims[i].From && l.o.IsDead(r.by)
	})
	answers := make([]holders.Claimed, len(claims))
	for i, r := range results {
		l.noteToken(newestToken{r.token, r.term})
		answers[i] = holders.Claimed{Occurrence: claims[i].Occurrence, Grant: r.grant, By: r.by, Token: r.token}
		if c := b.claims[i]; r.grant == holders.Refused && r.by == c.from {
			answers[i].GaveUp = c.gaveUp
		}
	}
	return answers
}

// claimOf returns the claim of an occurrence for this member's entry.
func (l *Ledger) claimOf(o exchange.Occurrence) claim {
	h := l.o.Holding(o.Key)
	c := claim{Occurrence: o, entry: h.Hash, former: h.Former}
	if h.Owner != "" {
		c.owner = job.SumKey([]byte(h.Owner)).Uint64()
	}
	return c
}

// repeat sends the claims of a batch for which change returns true, in the form that change
// returns, and replaces their results. Without an answer these are Unknown.
func (l *Ledger) repeat(ctx context.Context, b batch, results []result, change func(i int) (claim, bool)) {
	next := batch{claimant: b.claimant, started: b.started}
	var which []int
	for i := range b.claims {
		if c, ok := change(i); ok {
			b.claims[i] = c
			next.claims = append(next.claims, c)
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return
	}
	decided, err := l.decide(ctx, next)
	for n, i := range which {
		results[i] = result{grant: holders.Postponed}
		if err == nil {
			results[i] = decided[n]
		}
	}
}

// decide sends a batch to the leader, and searches for the leader until the context ends. While
// an answer is late, it sends the batch to other voters, too, but not twice to the same one. They
// have other connections to the leader, or learn of a new one, and deciding a claim twice does no
// harm.
func (l *Ledger) decide(ctx context.Context, b batch) ([]result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type reply struct {
		from    string
		results []result
		err     error
	}
	replies := make(chan reply, mostVoters+1)
	pause, pending := firstPause, map[string]bool{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	err := errors.New("no voter leads")
	for try := 0; ; {
		select {
		case <-timer.C:
			if to := l.nextVoter(try, pending); to != "" {
				try++
				pending[to] = true
				go func() {
					results, err := l.try(ctx, to, b)
					replies <- reply{to, results, err}
				}()
			}
			timer.Reset(lateTime)
		case r := <-replies:
			delete(pending, r.from)
			if r.err == nil && len(r.results) == len(b.claims) {
				return r.results, nil
			}
			err = r.err
			timer.Reset(pause)
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// nextVoter returns the voter to ask at a try, or "" if all of them have not answered yet: the
// leader, which may be this member, or at each second try any voter.
func (l *Ledger) nextVoter(try int, pending map[string]bool) string {
	l.mu.Lock()
	v, leader, voters := l.voter, l.leader, slices.Clone(l.voters)
	l.mu.Unlock()
	if v != nil && v.leads() && !pending[l.o.ID] {
		return l.o.ID
	}
	if leader == "" && v != nil {
		leader = v.leader()
	}
	if try%2 == 0 && leader != "" && leader != l.o.ID && !pending[leader] {
		return leader
	}
	voters = slices.DeleteFunc(voters, func(m string) bool { return m == l.o.ID || pending[m] })
	if len(voters) == 0 {
		return ""
	}
	return voters[rand.IntN(len(voters))]
}

// try sends a batch to one voter, or decides it here. A voter that cannot use its log, such as
// with a full disk, sends claims to the others, as members do that are not voters.
func (l *Ledger) try(ctx context.Context, to string, b batch) ([]result, error) {
	if to == l.o.ID {
		if v := l.voterNow(); v != nil {
			return v.propose(ctx, b)
		}
		return nil, errStopped
	}
	return l.requestVoter(ctx, to, request{seen: l.newestSeen(), batch: b})
}

// requestVoter sends claims to one voter, and stores the leader that it reports.
func (l *Ledger) requestVoter(ctx context.Context, member string, q request) ([]result, error) {
	a, err := l.send(ctx, member, q)
	l.mu.Lock()
	if err == nil {
		l.leader = a.leader
	} else if l.leader == member {
		l.leader = ""
	}
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if !a.decided {
		return nil, fmt.Errorf("voter %s does not lead", member)
	}
	return a.results, nil
}

func (l *Ledger) send(ctx context.Context, member string, q request) (answer, error) {
	addr, ok := l.o.Addr(member)
	if !ok {
		return answer{}, fmt.Errorf("voter %s is not in the ring now", member)
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	b, err := l.o.Link.Ask(ctx, link.Peer{ID: member, Addr: addr}, verbClaim, q.encode())
	if err != nil {
		return answer{}, err
	}
	return decodeAnswer(b)
}

// serveClaim answers a request with claims. The claims are those of the sender, or a voter
// that does not lead has forwarded them, which happens only once.
func (l *Ledger) serveClaim(ctx context.Context, peer string, body []byte) ([]byte, error) {
	q, err := decodeRequest(body)
	if err != nil {
		return nil, err
	}
	v := l.voterNow()
	if v == nil {
		return nil, errStopped
	}
	if q.claimant != peer && !(q.forwarded && v.isVoter(peer)) {
		return nil, fmt.Errorf("claims of %s are not yours", q.claimant)
	}
	l.noteToken(q.seen)
	if v.leads() {
		results, err := v.propose(ctx, q.batch)
		if err != nil {
			return nil, err
		}
		return answer{decided: true, leader: l.o.ID, results: results}.encode(), nil
	}
	leader := v.leader()
	if leader == "" || leader == peer || leader == l.o.ID || q.forwarded {
		return answer{leader: leader}.encode(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, v.beat) // then there may be another leader
	defer cancel()
	a, err := l.send(ctx, leader, request{true, l.newestSeen(), q.batch})
	if err != nil {
		return nil, err
	}
	return a.encode(), nil
}
