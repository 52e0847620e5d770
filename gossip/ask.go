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
)

// What members ask each other over the link.
const (
	verbRoster = "roster" // what of the jobs differs
	verbHello  = "hello"  // whether it is there, and what its clock shows
)

// Bounds on asking.
const (
	mostAsks  = 8 // rosters at a time
	askTime   = 10 * time.Second
	helloTime = 2 * time.Second
)

func appendUint32(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

// compare finds out in what a member's jobs differ from this one's, if that is
// not known yet.
func (r *Ring) compare(m *member) {
	ours := r.roster.Load()
	b, settled := m.settled(ours)
	if settled {
		return
	}
	if m.plain(b, r.o.Now()) {
		m.basis, m.diff, m.compared, m.foreign, m.trouble = b, difference{}, true, nil, ""
		r.changed = true
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
		d, labels, root, err := r.fetch(ctx, to, ours)
		b.theirs = root
		return func() { r.compared(m, b, d, labels, err) }
	})
}

func (r *Ring) compared(m *member, b basis, d difference, labels map[string]string, err error) {
	r.asks--
	m.asking = false
	if err != nil {
		m.retry = time.Now().Add(min(firstRetry<<min(m.fails, 6), lastRetry))
		m.fails++
		m.trouble = err.Error()
		r.unpark()
		return
	}
	m.basis, m.diff, m.compared, m.labels, m.fails, m.trouble, m.retry = b, d, true, labels, 0, "", time.Time{}
	maps.DeleteFunc(m.foreign, func(key job.Key, _ int) bool { return !d.lacks[key] })
	if sumLabels(labels) != m.meta.labelSum {
		m.basis.labels = digest{}
	}
	if _, settled := m.settled(r.roster.Load()); !settled {
		m.retry = time.Now().Add(firstRetry) // its word and its answer disagree: one is under way
	}
	r.changed = true
	r.unpark()
}

// fetch asks a member for what differs.
func (r *Ring) fetch(ctx context.Context, to link.Peer, ours *roster) (d difference, labels map[string]string, root digest, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for first := 0; first < buckets; {
		b, err := r.o.Link.Ask(ctx, to, verbRoster, encodeQuery(first, &ours.buckets))
		if err != nil {
			return d, nil, root, err
		}
		p, err := decodePage(b, first)
		if err != nil {
			return d, nil, root, err
		}
		if first > 0 && p.root != root {
			return d, nil, root, errors.New("its jobs changed meanwhile")
		}
		root, labels = p.root, p.labels
		d.compare(ours, &p)
		first = p.next
	}
	return d, labels, root, nil
}

func encodeQuery(first int, have *[buckets]digest) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+buckets*digestLen), uint16(first))
	for i := range have {
		b = append(b, have[i][:]...)
	}
	return b
}

func decodeQuery(b []byte) (first int, have *[buckets]digest, err error) {
	r := reader{rest: b}
	first = int(r.uint16())
	have = new([buckets]digest)
	for i := range have {
		have[i] = r.sum()
	}
	if err := r.end(); err != nil || first >= buckets {
		return 0, nil, errWire
	}
	return first, have, nil
}

func (r *Ring) answerRoster(_ context.Context, _ string, body []byte) ([]byte, error) {
	first, have, err := decodeQuery(body)
	if err != nil {
		return nil, err
	}
	p := r.roster.Load().page(first, have, r.o.Labels)
	return p.encode(), nil
}

func (r *Ring) answerHello(context.Context, string, []byte) ([]byte, error) {
	return r.encodeSample(), nil
}

// check asks a member that is said to be back from the dead whether it is. Its
// link's port is what it last said.
func (r *Ring) check(id string, addr netip.AddrPort) {
	m := r.members[id]
	if m == nil || m.asking || r.list == nil || time.Now().Before(m.retry) {
		return
	}
	m.asking = true
	m.retry = time.Now().Add(firstRetry)
	list := r.list
	to := link.Peer{ID: id, Addr: linkAddr(addr, m.meta.linkPort)}
	r.help(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, helloTime)
		defer cancel()
		_, err := r.o.Link.Ask(ctx, to, verbHello, nil)
		if err == nil {
			r.box.raise(id)
			_, _ = list.Join([]string{hostPort(addr)}) // else gossip brings it
		}
		return func() { m.asking = false }
	})
}
