package member

import (
	"context"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/claims"
	"github.com/cronring/cronring/gossip/holders"
)

// Claims decide which member runs an occurrence. They belong to the loop's goroutine. On a host in no
// ring they are nil: then Step steps the engine alone, Take does nothing, and there is nothing to
// Receive.
type Claims struct {
	member *Member
	ring   *claims.Ring
}

// NewClaims returns the claims of a member, which is nil on a host in no ring.
func NewClaims(r *Member) *Claims {
	if r == nil {
		return nil
	}
	return &Claims{member: r, ring: claims.New()}
}

// Step steps the engine, and the ring with it.
func (c *Claims) Step(e *engine.Engine, now job.Moment, events ...event.Event) []effect.Effect {
	if c == nil {
		return e.Step(now, events...)
	}
	return e.StepIn(c.ring, now, events...)
}

// Receive passes an event of the other members to the next step.
func (c *Claims) Receive(ev holders.Event) {
	if a, ok := ev.(holders.Claimed); ok && int(a.Grant) < len(c.member.answered) {
		c.member.answered[a.Grant].Add(1)
	}
	c.ring.Receive(ev)
}

// Take performs a step's effects on the other members. The answers arrive as events. The claims of a
// step go to the voters in one request, and are answered in the same order: if only a newer occurrence
// of a job were answered, a crash would lose the older one.
func (c *Claims) Take(ctx context.Context) {
	if c == nil {
		return
	}
	var own []holders.Effect
	var strict []holders.Claim
	for _, x := range c.ring.Effects() {
		if claim, ok := x.(holders.Claim); ok && claim.Ledger {
			strict = append(strict, claim)
		} else {
			own = append(own, x)
		}
	}
	if len(own) > 0 {
		c.member.members.Take(own...)
	}
	if len(strict) > 0 {
		c.member.calls.Go(func() { c.member.claimFromVoters(ctx, strict) })
	}
}

// claimFromVoters claims occurrences in the ledger.
func (r *Member) claimFromVoters(ctx context.Context, claims []holders.Claim) {
	var answers []holders.Claimed
	if voters := r.voters.Load(); voters != nil {
		answers = voters.Claim(ctx, claims)
	} else {
		for _, c := range claims {
			answers = append(answers, holders.Claimed{Occurrence: c.Occurrence, Grant: holders.Postponed})
		}
	}
	r.members.Decided(answers)
}
