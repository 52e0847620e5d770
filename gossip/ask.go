package gossip

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
	"github.com/cronring/cronring/gossip/roster"
	"github.com/cronring/cronring/gossip/search"
	"github.com/cronring/cronring/gossip/wire"
)

// Verbs of requests between members over the link.
const (
	verbRoster = "roster" // request for the member's ring jobs
	verbHello  = "hello"  // checks that a member is alive, and reads its clock
)

// Limits of requests.
const (
	mostAsks  = 8 // requests for rosters at a time
	askTime   = 10 * time.Second
	helloTime = 2 * time.Second
)

// compare determines the differences between a member's jobs and this one's, if they are not
// known yet.
func (r *Ring) compare(m *member) {
	ours := r.roster.Load()
	b, settled := m.settled(ours)
	if settled {
		return
	}
	if b.ours == b.theirs { // a request is not necessary
		m.basis, m.diff, m.compared, m.foreign, m.trouble = b, roster.Difference{}, true, nil, ""
		r.outbox.changed = true
		r.unpark()
		return
	}
	if m.asking || r.asks >= mostAsks || time.Now().Before(m.retry) {
		return
	}
	m.asking = true
	r.asks++
	to := m.peer()
	r.help(func(ctx context.Context) func() {
		all, err := r.fetch(ctx, to)
		b.theirs = all.Root
		return func() { r.compared(m, b, ours, all, err) }
	})
}

func (r *Ring) compared(m *member, b basis, ours *roster.Roster, theirs roster.Page, err error) {
	r.asks--
	m.asking = false
	if err != nil {
		m.retry = time.Now().Add(min(search.FirstRetry<<min(m.fails, 6), search.LastRetry))
		m.fails++
		m.trouble = err.Error()
		r.unpark()
		return
	}
	m.diff = ours.Compare(theirs.Entries, m.diff, r.o.Now())
	m.basis, m.compared, m.fails, m.trouble, m.retry = b, true, 0, "", time.Time{}
	maps.DeleteFunc(m.foreign, func(key job.Key, _ int) bool { _, lacks := m.diff.Lacks[key]; return !lacks })
	if _, settled := m.settled(r.roster.Load()); !settled {
		m.retry = time.Now().Add(search.FirstRetry) // its meta and its answer differ: one of them is out of date
	}
	r.outbox.changed = true
	r.unpark()
}

// fetch requests all ring jobs of a member.
func (r *Ring) fetch(ctx context.Context, to link.Peer) (all roster.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for {
		b, err := r.o.Link.Ask(ctx, to, verbRoster, binary.AppendUvarint(nil, uint64(all.Next)))
		if err != nil {
			return roster.Page{}, err
		}
		p, err := roster.DecodePage(b)
		switch {
		case err != nil:
			return roster.Page{}, err
		case all.Next > 0 && p.Root != all.Root:
			return roster.Page{}, errors.New("its jobs changed meanwhile")
		case p.Next != 0 && (len(p.Entries) == 0 || p.Next != len(all.Entries)+len(p.Entries)):
			return roster.Page{}, wire.ErrMalformed
		}
		all.Root, all.Next, all.Entries = p.Root, p.Next, append(all.Entries, p.Entries...)
		if all.Next == 0 {
			return all, nil
		}
	}
}

func (r *Ring) answerRoster(_ context.Context, _ string, body []byte) ([]byte, error) {
	q := wire.NewReader(body)
	first := q.Number(roster.MaxHoldings)
	if err := q.Err(); err != nil {
		return nil, err
	}
	p := r.roster.Load().Page(first)
	return p.Encode(), nil
}

func (r *Ring) answerHello(context.Context, string, []byte) ([]byte, error) {
	return r.encodeSample(), nil
}

// check contacts a dead member that is reported as alive again.
func (r *Ring) check(id string, addr netip.AddrPort) {
	m := r.members[id]
	if m == nil || m.asking || r.list == nil || time.Now().Before(m.retry) {
		return
	}
	m.asking = true
	m.retry = time.Now().Add(search.FirstRetry)
	list := r.list
	to := link.Peer{ID: id, Addr: addr.String()}
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, helloTime)
		defer cancel()
		_, err := r.o.Link.Ask(ctx, to, verbHello, nil)
		if err == nil {
			r.box.Revive(id)
			_, _ = list.Join([]string{addr.String()}) // after an error, gossip brings it
		}
		return func() { m.asking = false }
	})
}
