package gossip

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/register"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of the messages about ring jobs.
const (
	maxHoldings = 1 << 20
	pageLen     = 8192 // entries in an answer
	maxExtra    = 1000 // entries of another member that are stored for display
)

// roster lists the ring jobs of a member. As long as members agree, they exchange only its
// digest. It is immutable.
type roster struct {
	entries []catalog.Holding // by key
	root    digest
}

func newRoster(holdings []catalog.Holding) *roster {
	r := &roster{entries: slices.Clone(holdings)}
	slices.SortStableFunc(r.entries, func(a, b catalog.Holding) int { return a.Key.Compare(b.Key) })
	r.entries = slices.CompactFunc(r.entries, func(a, b catalog.Holding) bool { return a.Key == b.Key })
	r.entries = r.entries[:min(len(r.entries), maxHoldings)]
	b := make([]byte, 0, holdingLen*len(r.entries))
	for _, e := range r.entries {
		b = appendHolding(b, e)
	}
	r.root = sumOf(b)
	return r
}

// holdingLen is the length of an entry in a message.
const holdingLen = 2 * len(job.Key{})

func appendHolding(b []byte, h catalog.Holding) []byte {
	return append(append(b, h.Key[:]...), h.Hash[:]...)
}

// find returns the entry of a job.
func (r *roster) find(key job.Key) (catalog.Holding, bool) { return findHolding(r.entries, key) }

func findHolding(entries []catalog.Holding, key job.Key) (catalog.Holding, bool) {
	i, ok := slices.BinarySearchFunc(entries, key, func(h catalog.Holding, key job.Key) int { return h.Key.Compare(key) })
	if !ok {
		return catalog.Holding{}, false
	}
	return entries[i], true
}

// page is a part of a member's roster, and its labels.
type page struct {
	root    digest
	labels  map[string]string
	next    int // number of the first entry of the next page; 0: this is the last page
	entries []catalog.Holding
}

// page returns the entries from number first on.
func (r *roster) page(first int, labels map[string]string) page {
	p := page{root: r.root, labels: labels, entries: r.entries[min(first, len(r.entries)):]}
	if len(p.entries) > pageLen {
		p.entries, p.next = p.entries[:pageLen], first+pageLen
	}
	return p
}

func (p *page) encode() []byte {
	b := append([]byte(nil), p.root[:]...)
	b = appendLabels(b, p.labels)
	b = binary.AppendUvarint(b, uint64(p.next))
	b = binary.AppendUvarint(b, uint64(len(p.entries)))
	for _, e := range p.entries {
		b = appendHolding(b, e)
	}
	return b
}

func decodePage(b []byte) (page, error) {
	r := wire.NewReader(b)
	p := page{root: readSum(r), labels: readLabels(r), next: r.Number(maxHoldings)}
	p.entries = make([]catalog.Holding, r.Count(pageLen, holdingLen))
	for i := range p.entries {
		p.entries[i] = catalog.Holding{Key: r.Key(), Hash: r.Key()}
		r.Check(i == 0 || p.entries[i].Key.Compare(p.entries[i-1].Key) > 0)
	}
	return p, r.End()
}

// difference lists the differences between a member's jobs and this one's.
type difference struct {
	lacks map[job.Key]register.Lack // this member's jobs for which the other one does not hold the same entry
	extra []job.Key                 // the other's jobs that this member does not hold
}

// compare compares a member's jobs with this one's. A job that differed in the same way before
// keeps the time since which it differs.
func (r *roster) compare(theirs []catalog.Holding, before difference, now time.Time) (d difference) {
	for _, e := range r.entries {
		other, _ := findHolding(theirs, e.Key)
		if other.Hash == e.Hash {
			continue
		}
		lack := register.Lack{Ours: e.Hash, Theirs: other.Hash, Since: now}
		if was, ok := before.lacks[e.Key]; ok && was.Ours == lack.Ours && was.Theirs == lack.Theirs {
			lack.Since = was.Since
		}
		if d.lacks == nil {
			d.lacks = make(map[job.Key]register.Lack)
		}
		d.lacks[e.Key] = lack
	}
	for _, e := range theirs {
		if _, ok := r.find(e.Key); !ok && len(d.extra) < maxExtra {
			d.extra = append(d.extra, e.Key)
		}
	}
	return d
}

func (r *Ring) hold(holdings []catalog.Holding) {
	before := r.own.root
	r.setRoster(newRoster(holdings))
	if r.stage.entry == joined && r.own.root != before {
		r.own.edited = r.o.Now()
	}
	r.elsewhere.keep(r.roster.Load())
	r.publish()
	for _, m := range r.alive() {
		r.compare(m)
	}
}

func (r *Ring) setRoster(n *roster) {
	r.roster.Store(n)
	r.own.root = n.root
}
