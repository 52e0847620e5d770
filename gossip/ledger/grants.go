package ledger

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
	"unique"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of the grants in memory. Forgotten occurrences are refused to all members, so that
// none is granted twice.
const (
	retention  = 24 * time.Hour // past due
	mostGrants = 1_000_000
	bucketSpan = int64(time.Minute)
)

// grants are the grants of all members. Voters that applied the same entries have the same
// grants. An occurrence is granted to one member. Another one can take it over only with a
// claim that names the holder as dead, or as having given it up.
type grants struct {
	buckets map[int64]*bucket // by minute of their due times
	order   []int64           // of the buckets, ascending
	count   int
	counts  map[uint64]int   // by owner, see claim
	most    int              // mostGrants
	floor   int64            // the oldest minute that is not forgotten
	floors  map[uint64]int64 // likewise, by owner: later minutes than floor
	newest  int64            // the latest due time of a grant
	time    int64            // of the newest entry
	term    uint64           // raft's term of the current entry
	base    uint64           // added to the index of an entry for its token, see recovery
}

// bucket contains the grants of a minute. A bucket in a snapshot is frozen: a change copies it
// first.
type bucket struct {
	frozen bool
	grants map[exchange.Occurrence]grant
}

type grant struct {
	by      unique.Handle[string]
	index   uint64  // the token: the index of the newest entry that granted it, plus base
	entry   job.Key // the hash of the entry in the claim; zero: unknown
	owner   uint64  // as in the claim
	started uint32  // the latest start of the member's daemon in its claims, see batch
}

func newGrants() *grants {
	return &grants{
		buckets: map[int64]*bucket{}, counts: map[uint64]int{}, most: mostGrants,
		floor: math.MinInt64, floors: map[uint64]int64{}, newest: math.MinInt64,
	}
}

func minuteOf(due int64) int64 {
	m := due / bucketSpan
	if due%bucketSpan < 0 {
		m--
	}
	return m
}

// apply decides the claims of an entry in order.
func (g *grants) apply(index uint64, e entry) [][]result {
	if e.base > 0 {
		g.recover(e.time, e.base)
	}
	index += g.base
	all := make([][]result, len(e.batches))
	for i, b := range e.batches {
		by := unique.Make(b.claimant)
		all[i] = make([]result, len(b.claims))
		for j, c := range b.claims {
			all[i][j] = g.claim(index, by, b.started, c)
		}
	}
	g.time = e.time
	g.forget()
	return all
}

func (g *grants) claim(index uint64, by unique.Handle[string], started uint32, c claim) result {
	minute := minuteOf(c.Due)
	if minute < g.floorOf(c.owner) {
		return result{grant: holders.Refused}
	}
	had, ok := g.find(minute, c)
	switch {
	case !ok:
	case had.by == by: // with the token of the newest claim, whose run starts now
		had.index, had.started = index, max(had.started, started)
		g.set(minute, c.Occurrence, had)
		return result{grant: holders.Granted, token: index, term: g.term}
	case had.index == index, had.by.Value() != c.from, c.gaveUp > 0 && had.started > c.gaveUp:
		other := had.entry != c.entry && had.entry != job.Key{} && c.entry != job.Key{}
		return result{grant: holders.Refused, by: had.by.Value(), other: other}
	}
	to := grant{by: by, index: index, entry: c.entry, owner: c.owner, started: started}
	if ok {
		to.owner = had.owner
	}
	if had.entry != (job.Key{}) { // also after a rerun under another entry, the first entry has run
		to.entry = had.entry
	}
	g.set(minute, c.Occurrence, to)
	g.newest = max(g.newest, c.Due)
	return result{grant: holders.Granted, token: index, term: g.term}
}

// find returns the grant of a claimed occurrence. A grant to a member of version 0.7.0 is
// stored under the job's former key: two jobs may have had the same one, and neither of them
// may run again.
func (g *grants) find(minute int64, c claim) (had grant, ok bool) {
	b := g.buckets[minute]
	if b == nil {
		return grant{}, false
	}
	if had, ok = b.grants[c.Occurrence]; !ok && c.former != 0 {
		had, ok = b.grants[exchange.Occurrence{Key: catalog.FormerKey(c.former), Due: c.Due}]
	}
	return had, ok
}

func (g *grants) set(minute int64, o exchange.Occurrence, to grant) {
	b := g.bucket(minute)
	before := len(b.grants)
	b.grants[o] = to
	g.add(to.owner, len(b.grants)-before)
}

// add adds n grants of an owner to the counts.
func (g *grants) add(owner uint64, n int) {
	g.count += n
	if g.counts[owner] += n; g.counts[owner] == 0 {
		delete(g.counts, owner)
	}
}

// floorOf returns the oldest minute of an owner's that is not forgotten. If the owner of a
// claim or of a forgotten grant is unknown, it may be any.
func (g *grants) floorOf(owner uint64) int64 {
	floor := g.floor
	for of, minute := range g.floors {
		if owner == of || owner == 0 || of == 0 {
			floor = max(floor, minute)
		}
	}
	return floor
}

// bucket returns the bucket of a minute for a change.
func (g *grants) bucket(minute int64) *bucket {
	b := g.buckets[minute]
	switch {
	case b == nil:
		b = &bucket{grants: map[exchange.Occurrence]grant{}}
		at, _ := slices.BinarySearch(g.order, minute)
		g.order = slices.Insert(g.order, at, minute)
	case b.frozen:
		b = &bucket{grants: maps.Clone(b.grants)}
	}
	g.buckets[minute] = b
	return b
}

// forget removes grants that are older than the retention. The age is that by the leader's clock
// or by the newest grant, whichever is less, so that a leader whose clock is ahead forgets nothing
// too early. If there are too many, the owner who has the most loses the oldest ones: so a user
// whose jobs run often does not make the voters refuse occurrences of other users.
func (g *grants) forget() {
	now := min(g.time, g.newest)
	if now > math.MinInt64+int64(retention) {
		g.floor = max(g.floor, minuteOf(now-int64(retention)))
	}
	for len(g.order) > 0 && g.order[0] < g.floor {
		for _, had := range g.buckets[g.order[0]].grants {
			g.add(had.owner, -1)
		}
		delete(g.buckets, g.order[0])
		g.order = g.order[1:]
	}
	maps.DeleteFunc(g.floors, func(_ uint64, minute int64) bool { return minute <= g.floor })
	for g.count > g.most {
		g.dropOldest(g.fullest())
	}
}

// fullest returns the owner with the most grants.
func (g *grants) fullest() (owner uint64) {
	for of, n := range g.counts {
		if most := g.counts[owner]; n > most || n == most && of < owner {
			owner = of
		}
	}
	return owner
}

// dropOldest removes the grants of an owner from the oldest minute that has any. It never looks
// at a minute before the owner's floor again.
func (g *grants) dropOldest(owner uint64) {
	floor, ok := g.floors[owner]
	if !ok {
		floor = g.floor
	}
	isOwners := func(_ exchange.Occurrence, had grant) bool { return had.owner == owner }
	from, _ := slices.BinarySearch(g.order, floor)
	for i, minute := range slices.All(g.order[from:]) {
		n := 0
		for o, had := range g.buckets[minute].grants {
			if isOwners(o, had) {
				n++
			}
		}
		if n == 0 {
			continue
		}
		b := g.bucket(minute)
		maps.DeleteFunc(b.grants, isOwners)
		g.add(owner, -n)
		g.floors[owner] = minute + 1
		if len(b.grants) == 0 {
			delete(g.buckets, minute)
			g.order = slices.Delete(g.order, from+i, from+i+1)
		}
		return
	}
}

// recover refuses the occurrences that lost entries may have granted, and makes further tokens
// greater than those of the lost entries.
func (g *grants) recover(now int64, token uint64) {
	g.floor = max(g.floor, minuteOf(now+int64(recoverMargin)))
	g.base = max(g.base, token)
}

// recoverMargin is how far ahead occurrences are refused after a recovery, rounded down to the
// minute: occurrences that are due within the allowed clock skew may have been granted before.
const recoverMargin = time.Minute + 2*holders.MaxSkew

// image is an immutable copy of grants.
type image struct {
	floor, newest, time int64
	base                uint64
	floors              map[uint64]int64
	minutes             []int64
	buckets             []*bucket
}

func (g *grants) freeze() image {
	i := image{g.floor, g.newest, g.time, g.base, maps.Clone(g.floors), slices.Clone(g.order), make([]*bucket, 0, len(g.order))}
	for _, minute := range g.order {
		g.buckets[minute].frozen = true
		i.buckets = append(i.buckets, g.buckets[minute])
	}
	return i
}

// encode writes an image: the version of the format, the numbers, the floors of owners, and the
// buckets, each with its minute and size.
func (i image) encode(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	b := []byte{snapshotForm}
	for _, v := range []int64{i.floor, i.newest, i.time} {
		b = binary.AppendVarint(b, v)
	}
	b = binary.AppendUvarint(b, i.base)
	b = binary.AppendUvarint(b, uint64(len(i.floors)))
	for owner, minute := range i.floors {
		b = binary.AppendVarint(binary.BigEndian.AppendUint64(b, owner), minute)
	}
	b = binary.AppendUvarint(b, uint64(len(i.minutes)))
	var members wire.Members
	for n, minute := range i.minutes {
		b = binary.AppendVarint(b, minute)
		b = binary.AppendUvarint(b, uint64(len(i.buckets[n].grants)))
		for o, g := range i.buckets[n].grants {
			b = append(b, o.Key[:]...)
			b = binary.AppendUvarint(b, uint64(o.Due-minute*bucketSpan))
			b = append(b, g.entry[:]...)
			b = binary.BigEndian.AppendUint64(b, g.owner)
			b = binary.AppendUvarint(binary.BigEndian.AppendUint32(b, g.started), g.index)
			b = members.Append(b, g.by.Value())
			if _, err := out.Write(b); err != nil {
				return fmt.Errorf("write snapshot: %w", err)
			}
			b = b[:0]
		}
	}
	if _, err := out.Write(b); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return out.Flush()
}

// decodeGrants reads what encode wrote. It allocates no more than it reads.
func decodeGrants(from io.Reader) (*grants, error) {
	d := snapshotReader{Reader: wire.NewStream(from)}
	g := newGrants()
	if d.form = d.Uint8(); d.form != snapshotForm && d.form != formerForm {
		return nil, fmt.Errorf("read snapshot: form %d is unknown", d.form)
	}
	g.floor, g.newest, g.time = d.Varint(), d.Varint(), d.Varint()
	if d.form != formerForm {
		g.base = d.Uvarint()
		for left := d.Uvarint(); left > 0 && d.Err() == nil; left-- {
			owner := d.Uint64()
			g.floors[owner] = d.Varint()
		}
	}
	for left := d.Uvarint(); left > 0 && d.Err() == nil; left-- {
		d.bucket(g)
	}
	return g, failed(d.End(), "snapshot")
}

type snapshotReader struct {
	*wire.Reader
	form    byte
	members wire.Members
}

func (d *snapshotReader) bucket(g *grants) {
	minute, size := d.Varint(), d.Uvarint()
	d.Check(len(g.order) == 0 || minute > g.order[len(g.order)-1])
	d.Check(minute >= math.MinInt64/bucketSpan && minute < math.MaxInt64/bucketSpan)
	d.Check(size > 0 && size <= uint64(g.most-g.count))
	b := &bucket{grants: map[exchange.Occurrence]grant{}}
	for ; size > 0 && d.Err() == nil; size-- {
		var key, entry job.Key
		var offset, owner uint64
		var started uint32
		if d.form == formerForm {
			key, offset = catalog.FormerKey(d.Uint64()), d.Uvarint()
		} else {
			key, offset, entry, owner, started = d.Key(), d.Uvarint(), d.Key(), d.Uint64(), d.Uint32()
		}
		d.Check(offset < uint64(bucketSpan))
		floor, has := g.floors[owner]
		d.Check(!has || minute >= floor)
		had := grant{index: d.Uvarint(), entry: entry, owner: owner, started: started}
		if d.form == formerForm {
			d.Uint8() // an option that no longer exists
		}
		had.by = unique.Make(d.members.Read(d.Reader))
		b.grants[exchange.Occurrence{Key: key, Due: minute*bucketSpan + int64(offset)}] = had
	}
	g.buckets[minute] = b
	g.order = append(g.order, minute)
	for _, had := range b.grants {
		g.add(had.owner, 1)
	}
}
