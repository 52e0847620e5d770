package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/wire"
)

// proposal is a batch that waits for the next entry.
type proposal struct {
	batch batch
	done  chan outcome // buffered
}

type outcome struct {
	results []result
	err     error
}

var errStopped = errors.New("the ledger has stopped here")

var errAhead = fmt.Errorf("an occurrence is due in more than %v by the clock of the voters' leader", holders.MaxSkew)

// propose adds a batch to the log. It fails unless this voter leads. After an error the batch
// may be in the log nevertheless.
func (v *voter) propose(ctx context.Context, b batch) ([]result, error) {
	if v.ledger.o.ClockIsSure() && b.isAhead(time.Now()) {
		return nil, errAhead
	}
	if err := v.checkSeen(); err != nil {
		return nil, err
	}
	p := &proposal{b, make(chan outcome, 1)}
	select {
	case v.proposals <- p:
	case <-v.stopped:
		return nil, errStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case o := <-p.done:
		return o.results, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isAhead reports whether a claimed occurrence is due further ahead than clocks may differ. A
// member whose clock is ahead would otherwise be granted the future occurrences of all members,
// and the grants would be forgotten last.
func (c batch) isAhead(now time.Time) bool {
	latest := now.Add(holders.MaxSkew).UnixNano()
	return slices.ContainsFunc(c.claims, func(one claim) bool { return one.Due > latest })
}

// commitAll adds proposals to the log until the voter stops. Proposals that arrive while an
// entry is being committed share the next one.
func (v *voter) commitAll() {
	var next *proposal // did not fit into the previous entry
	for {
		if next == nil {
			select {
			case next = <-v.proposals:
			case <-v.stopped:
				return
			}
		}
		var together []*proposal
		together, next = v.gather(next)
		v.commit(together)
		if next != nil {
			select {
			case <-v.stopped:
				next.done <- outcome{err: errStopped}
				return
			default:
			}
		}
	}
}

// gather adds the proposals that arrive within gatherTime, up to the limit of an entry.
func (v *voter) gather(first *proposal) (together []*proposal, rest *proposal) {
	together, claims := []*proposal{first}, len(first.batch.claims)
	end := time.After(gatherTime)
	for claims < mostClaims {
		select {
		case p := <-v.proposals:
			claims += len(p.batch.claims)
			if claims > mostClaims {
				return together, p
			}
			together = append(together, p)
		case <-end:
			return together, nil
		}
	}
	return together, nil
}

// commit commits proposals as one entry, and delivers their outcomes.
func (v *voter) commit(together []*proposal) {
	e := entry{time: time.Now().UnixNano()}
	for _, p := range together {
		e.batches = append(e.batches, p.batch)
	}
	all, err := v.apply(e)
	for i, p := range together {
		if err != nil {
			p.done <- outcome{err: err}
			continue
		}
		p.done <- outcome{results: all[i]}
	}
}

func (v *voter) apply(e entry) ([][]result, error) {
	if !v.leads() {
		return nil, raft.ErrNotLeader
	}
	f := v.raft.Load().Apply(e.encode(), enqueueTime)
	if err := f.Error(); err != nil {
		return nil, fmt.Errorf("write ledger: %w", err)
	}
	switch r := f.Response().(type) {
	case [][]result:
		return r, nil
	case error:
		return nil, r
	}
	return nil, wire.ErrMalformed
}
