// Package roster owns the lists of ring jobs that members hold: their encoding, and the differences
// between two of them.
package roster

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of the messages about ring jobs.
const (
	MaxHoldings = 1 << 20
	pageLen     = 8192 // entries in an answer
	MaxExtra    = 1000 // entries of another member that are stored for display
)

// Roster lists the ring jobs of a member. As long as members agree, they exchange only its
// digest. It is immutable.
type Roster struct {
	Entries []catalog.Holding // by key
	Root    meta.Digest
}

// New makes a roster of ring jobs, at most MaxHoldings.
func New(holdings []catalog.Holding) *Roster {
	r := &Roster{Entries: slices.Clone(holdings)}
	slices.SortStableFunc(r.Entries, func(a, b catalog.Holding) int { return a.Key.Compare(b.Key) })
	r.Entries = slices.CompactFunc(r.Entries, func(a, b catalog.Holding) bool { return a.Key == b.Key })
	r.Entries = r.Entries[:min(len(r.Entries), MaxHoldings)]
	b := make([]byte, 0, holdingLen*len(r.Entries))
	for _, e := range r.Entries {
		b = appendHolding(b, e)
	}
	r.Root = meta.Sum(b)
	return r
}

// holdingLen is the length of an entry in a message.
const holdingLen = 2 * len(job.Key{})

func appendHolding(b []byte, h catalog.Holding) []byte {
	return append(append(b, h.Key[:]...), h.Hash[:]...)
}

// Find returns the entry of a job.
func (r *Roster) Find(key job.Key) (catalog.Holding, bool) { return findHolding(r.Entries, key) }

func findHolding(entries []catalog.Holding, key job.Key) (catalog.Holding, bool) {
	i, ok := slices.BinarySearchFunc(entries, key, func(h catalog.Holding, key job.Key) int { return h.Key.Compare(key) })
	if !ok {
		return catalog.Holding{}, false
	}
	return entries[i], true
}

// Page is a part of a member's roster.
type Page struct {
	Root    meta.Digest
	Next    int // number of the first entry of the next page; 0: this is the last page
	Entries []catalog.Holding
}

// Page returns the entries from number first on.
func (r *Roster) Page(first int) Page {
	p := Page{Root: r.Root, Entries: r.Entries[min(first, len(r.Entries)):]}
	if len(p.Entries) > pageLen {
		p.Entries, p.Next = p.Entries[:pageLen], first+pageLen
	}
	return p
}

// Encode writes a page.
func (p *Page) Encode() []byte {
	b := append([]byte(nil), p.Root[:]...)
	b = binary.AppendUvarint(b, uint64(p.Next))
	b = binary.AppendUvarint(b, uint64(len(p.Entries)))
	for _, e := range p.Entries {
		b = appendHolding(b, e)
	}
	return b
}

// DecodePage reads what Encode wrote. It ignores additional bytes, which later versions may write.
func DecodePage(b []byte) (Page, error) {
	r := wire.NewReader(b)
	p := Page{Root: meta.ReadDigest(r), Next: r.Number(MaxHoldings)}
	p.Entries = make([]catalog.Holding, r.Count(pageLen, holdingLen))
	for i := range p.Entries {
		p.Entries[i] = catalog.Holding{Key: r.Key(), Hash: r.Key()}
		r.Check(i == 0 || p.Entries[i].Key.Compare(p.Entries[i-1].Key) > 0)
	}
	return p, r.Err()
}

// Difference lists the differences between a member's jobs and this one's.
type Difference struct {
	Lacks map[job.Key]holders.Lack // this member's jobs for which the other one does not hold the same entry
	Extra []job.Key                // the other's jobs that this member does not hold
}

// Compare compares a member's jobs with this one's. A job that differed in the same way before
// keeps the time since which it differs.
func (r *Roster) Compare(theirs []catalog.Holding, before Difference, now time.Time) (d Difference) {
	for _, e := range r.Entries {
		other, _ := findHolding(theirs, e.Key)
		if other.Hash == e.Hash {
			continue
		}
		lack := holders.Lack{Ours: e.Hash, Theirs: other.Hash, Since: now}
		if was, ok := before.Lacks[e.Key]; ok && was.Ours == lack.Ours && was.Theirs == lack.Theirs {
			lack.Since = was.Since
		}
		if d.Lacks == nil {
			d.Lacks = make(map[job.Key]holders.Lack)
		}
		d.Lacks[e.Key] = lack
	}
	for _, e := range theirs {
		if _, ok := r.Find(e.Key); !ok && len(d.Extra) < MaxExtra {
			d.Extra = append(d.Extra, e.Key)
		}
	}
	return d
}
