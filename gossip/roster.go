package gossip

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

const (
	buckets     = 256
	maxHoldings = 1 << 20
	// maxRecent bounds the entries of which it is said one by one since when
	// they count. When more were edited at once, all of the member's entries
	// count from the last of them on, which is a settle away at most.
	maxRecent = 4096
	// recentFor is how long it is said: an occurrence that is later than this
	// goes to whoever is there when it is made up for.
	recentFor = 10 * time.Minute
	// pageLen is about how much of a roster goes into one answer.
	pageLen = 128 << 10
)

// roster is the ring jobs of a member with their digests, which is what
// travels as long as members agree. It is immutable.
type roster struct {
	entries []engine.Holding // by key
	root    digest
	buckets [buckets]digest
	recent  map[job.Key]time.Time // entries that count, or are gone, from later than the member's start on
	edited  time.Time             // the newest of recent
	floor   time.Time             // nothing counts before it
}

// newRoster makes a roster of holdings. Entries that old has not count from
// since on; old is nil at the start, where all count as the member does.
func newRoster(holdings []engine.Holding, old *roster, since time.Time) *roster {
	r := &roster{entries: slices.Clone(holdings)}
	slices.SortStableFunc(r.entries, func(a, b engine.Holding) int { return a.Key.Compare(b.Key) })
	r.entries = slices.CompactFunc(r.entries, func(a, b engine.Holding) bool { return a.Key == b.Key })
	r.entries = r.entries[:min(len(r.entries), maxHoldings)]
	r.summarise()
	if old == nil {
		return r
	}
	r.floor, r.edited = old.floor, old.edited
	for _, e := range r.entries {
		if hash, ok := old.find(e.Key); !ok || hash != e.Hash {
			r.setRecent(e.Key, since)
		} else if t, ok := old.recent[e.Key]; ok && since.Sub(t) < recentFor {
			r.setRecent(e.Key, t)
		}
	}
	for key, t := range old.recent { // of entries that are gone
		if _, has := r.find(key); !has && since.Sub(t) < recentFor {
			r.setRecent(key, t)
		}
	}
	for _, e := range old.entries {
		if _, has := r.find(e.Key); !has {
			r.setRecent(e.Key, since)
		}
	}
	if len(r.recent) > maxRecent {
		r.floor, r.recent = r.edited, nil
	}
	return r
}

// compareWith is for the first roster after a start. If an entry changed while the
// host was down, or shortly before, the host does not know which one: all of its
// entries then count from that time, because occurrences were granted to others for
// the former entries.
func (r *roster) compareWith(before heldJobs, since time.Time) {
	switch before.Root {
	case "":
		return
	case r.heldJobs().Root:
		since = before.Edited
	}
	r.floor, r.edited = since, since
}

func (r *roster) setRecent(key job.Key, t time.Time) {
	if r.recent == nil {
		r.recent = make(map[job.Key]time.Time)
	}
	r.recent[key] = t
	if t.After(r.edited) {
		r.edited = t
	}
}

func bucketOf(key job.Key) int { return int(key[0]) }

func (r *roster) summarise() {
	var all, one []byte
	rest := r.entries
	for i := range buckets {
		one = one[:0]
		for len(rest) > 0 && bucketOf(rest[0].Key) == i {
			one = appendHolding(one, rest[0])
			rest = rest[1:]
		}
		r.buckets[i] = sumOf(one)
		all = append(all, r.buckets[i][:]...)
	}
	r.root = sumOf(all)
}

// Lengths of what is sent of an entry.
const (
	jobKeyLen  = len(job.Key{})
	holdingLen = 2 * jobKeyLen
)

func appendHolding(b []byte, h engine.Holding) []byte {
	return append(append(b, h.Key[:]...), h.Hash[:]...)
}

// find returns the hash of an entry.
func (r *roster) find(key job.Key) (job.Key, bool) {
	h, ok := r.holding(key)
	return h.Hash, ok
}

func (r *roster) holding(key job.Key) (engine.Holding, bool) {
	i, ok := slices.BinarySearchFunc(r.entries, key, func(h engine.Holding, key job.Key) int { return h.Key.Compare(key) })
	if !ok {
		return engine.Holding{}, false
	}
	return r.entries[i], true
}

// bucket returns the entries of a bucket.
func (r *roster) bucket(i int) []engine.Holding {
	at := func(n int) int {
		j, _ := slices.BinarySearchFunc(r.entries, n, func(h engine.Holding, n int) int { return cmp.Compare(bucketOf(h.Key), n) })
		return j
	}
	return r.entries[at(i):at(i+1)]
}

// page is a part of what a member has and the asker has not: whole buckets
// from the one that was asked for on.
type page struct {
	root    digest
	labels  map[string]string
	floor   time.Time
	recent  map[job.Key]time.Time
	next    int // the bucket to ask for then; buckets: this was the last page
	entries map[int][]engine.Holding
}

// page collects buckets from first on that differ from what the asker has.
func (r *roster) page(first int, theirs *[buckets]digest, labels map[string]string) page {
	p := page{root: r.root, labels: labels, floor: r.floor, next: first, entries: make(map[int][]engine.Holding)}
	if first == 0 {
		p.recent = r.recent
	}
	for size := 0; p.next < buckets && size < pageLen; p.next++ {
		if r.buckets[p.next] != theirs[p.next] {
			p.entries[p.next] = r.bucket(p.next)
			size += holdingLen * len(p.entries[p.next])
		}
	}
	return p
}

func (p *page) encode() []byte {
	b := append([]byte(nil), p.root[:]...)
	b = appendLabels(b, p.labels)
	b = appendTime(b, p.floor)
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.recent)))
	for key, t := range p.recent {
		b = appendTime(append(b, key[:]...), t)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(p.next))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.entries)))
	for i := range buckets {
		entries, ok := p.entries[i]
		if !ok {
			continue
		}
		b = append(b, byte(i))
		b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
		for _, e := range entries {
			b = appendHolding(b, e)
		}
	}
	return b
}

// decodePage reads a page that begins with bucket first.
func decodePage(b []byte, first int) (page, error) {
	r := reader{rest: b}
	p := page{root: r.sum(), labels: r.labels(), floor: r.time()}
	if n := r.count(maxRecent, jobKeyLen+8); n > 0 {
		p.recent = make(map[job.Key]time.Time, n)
		for range n {
			key := r.key()
			p.recent[key] = r.time()
		}
	}
	p.next = int(r.uint16())
	n := r.count(buckets, 5)
	if p.next <= first || p.next > buckets {
		return page{}, errWire
	}
	p.entries = make(map[int][]engine.Holding, n)
	for range n {
		i := int(r.uint8())
		entries := make([]engine.Holding, r.count(maxHoldings, holdingLen))
		for j := range entries {
			entries[j] = engine.Holding{Key: r.key(), Hash: r.key()}
			if bucketOf(entries[j].Key) != i || j > 0 && entries[j].Key.Compare(entries[j-1].Key) <= 0 {
				return page{}, errWire
			}
		}
		if i < first || i >= p.next || p.entries[i] != nil {
			return page{}, errWire
		}
		p.entries[i] = entries
	}
	return p, r.end()
}

// difference is in what a member's jobs differ from this one's.
type difference struct {
	lacks map[job.Key]bool // this member's, of which it holds no equal entry,
	other map[job.Key]bool // and those of them of which it holds another one
	extra []job.Key        // its own, of which this member holds nothing
	since map[job.Key]time.Time
	floor time.Time
}

// maxExtra bounds the entries of another member that are remembered to be shown.
const maxExtra = 1000

// compare adds a page of a member's roster to its difference from r.
func (d *difference) compare(r *roster, p *page) {
	if p.recent != nil {
		d.since = p.recent
	}
	d.floor = p.floor
	for i, theirs := range p.entries {
		for _, e := range r.bucket(i) {
			j, ok := slices.BinarySearchFunc(theirs, e.Key, func(h engine.Holding, key job.Key) int { return h.Key.Compare(key) })
			if !ok || theirs[j].Hash != e.Hash {
				set(&d.lacks, e.Key)
			}
			if ok && theirs[j].Hash != e.Hash {
				set(&d.other, e.Key)
			}
		}
		for _, e := range theirs {
			if _, ok := r.find(e.Key); !ok && len(d.extra) < maxExtra {
				d.extra = append(d.extra, e.Key)
			}
		}
	}
}

func set(m *map[job.Key]bool, key job.Key) {
	if *m == nil {
		*m = make(map[job.Key]bool)
	}
	(*m)[key] = true
}
