package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/link"
)

// Bounds on what an entry, or a request, holds.
const (
	mostClaims  = 1024 // of an entry, beyond which the next ones wait for the next
	mostBatches = mostClaims
)

// The forms, which are kept on disk and sent between members.
const (
	entryForm    = 4
	requestForm  = 4
	answerForm   = 3
	snapshotForm = 4
	formerForm   = 2 // of entries and snapshots on the disks of version 0.7.0, without entries and with former keys
)

// occurrence is engine.Occurrence as it is kept: comparable, without a zone.
type occurrence struct {
	key job.Key
	due int64 // Unix nanoseconds
}

// claim is one occurrence that a member asks for. From names the member that it
// may be taken from, as the claimant sees that it is gone.
type claim struct {
	occurrence
	entry  job.Key // the hash of the claimant's entry; zero: not known
	former uint64  // the key of the job in version 0.7.0, see catalog.FormerKey; 0: not known
	from   string
}

// apart returns the claim under a key that only claims for the same entry share. It
// is for an occurrence that was granted for another entry, which is another job.
func (c claim) apart() claim {
	c.key = job.SumKey(append(c.key[:], c.entry[:]...))
	c.former = 0
	return c
}

// batch is the claims of one member.
type batch struct {
	claimant string
	claims   []claim
}

// entry is what the log holds: all claims that came together, and the leader's
// time, so that all voters forget the same.
type entry struct {
	time    int64
	batches []batch
	base    uint64 // of the grants from now on, which are recovered; 0: as it was
}

// result is what became of one claim.
type result struct {
	grant engine.Grant
	by    string
	token uint64
	other bool   // it is refused, and was granted for another entry
	term  uint64 // raft's, of the log's entry that granted it
}

var errForm = errors.New("malformed")

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func (e entry) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{entryForm}, uint64(e.time))
	b = binary.AppendUvarint(b, e.base)
	b = binary.AppendUvarint(b, uint64(len(e.batches)))
	for _, batch := range e.batches {
		b = batch.append(b)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}

func (c batch) append(b []byte) []byte {
	b = appendString(b, c.claimant)
	b = binary.AppendUvarint(b, uint64(len(c.claims)))
	for _, claim := range c.claims {
		b = append(b, claim.key[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(claim.due))
		b = append(b, claim.entry[:]...)
		b = binary.BigEndian.AppendUint64(b, claim.former)
		b = appendString(b, claim.from)
	}
	return b
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendString writes a string of at most 255 bytes.
func appendString(b []byte, s string) []byte {
	return append(append(b, byte(len(s))), s...)
}

func decodeEntry(b []byte) (entry, error) {
	if len(b) < 4 {
		return entry{}, fmt.Errorf("read entry: %w", errForm)
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crcTable) != sum {
		return entry{}, errors.New("read entry: its checksum is of something else")
	}
	r := reader{b: body}
	form := r.byte()
	if form != entryForm && form != formerForm {
		return entry{}, fmt.Errorf("read entry: form %d is unknown", form)
	}
	e := entry{time: int64(r.uint64())}
	if form != formerForm {
		e.base = r.uvarint()
	}
	for range r.count(mostBatches) {
		e.batches = append(e.batches, r.batch(form))
		if r.bad {
			break
		}
	}
	return e, r.end("entry")
}

// request is what a member sends to a voter. Forwarded by another voter it
// names the claimant, who else is the sender.
type request struct {
	forwarded bool
	seen      seen
	batch
}

func (q request) encode() []byte {
	return q.append(q.seen.append([]byte{requestForm, boolByte(q.forwarded)}))
}

func decodeRequest(b []byte) (request, error) {
	r := reader{b: b}
	if form := r.byte(); form != requestForm {
		return request{}, fmt.Errorf("read claims: form %d is unknown", form)
	}
	q := request{forwarded: r.byte() == 1, seen: seen{r.uint64(), r.uint64()}, batch: r.batch(requestForm)}
	return q, r.end("claims")
}

// answer is what a voter says: the results, or that it does not lead.
type answer struct {
	decided bool
	leader  string // who leads, or ""
	results []result
}

func (a answer) encode() []byte {
	if !a.decided {
		return appendString([]byte{answerForm, 0}, a.leader)
	}
	b := appendString([]byte{answerForm, 1}, a.leader)
	b = binary.AppendUvarint(b, uint64(len(a.results)))
	for _, r := range a.results {
		b = append(b, byte(r.grant))
		b = appendString(b, r.by)
		b = append(binary.AppendUvarint(b, r.token), boolByte(r.other))
		b = binary.AppendUvarint(b, r.term)
	}
	return b
}

func decodeAnswer(b []byte) (answer, error) {
	r := reader{b: b}
	if form := r.byte(); form != answerForm {
		return answer{}, fmt.Errorf("read answer: form %d is unknown", form)
	}
	a := answer{decided: r.byte() == 1, leader: r.member(true)}
	if !a.decided {
		return a, r.end("answer")
	}
	for range r.count(mostClaims) {
		one := result{grant: engine.Grant(r.byte()), by: r.member(true), token: r.uvarint(), other: r.byte() == 1, term: r.uvarint()}
		if one.grant != engine.Granted && one.grant != engine.Refused {
			r.bad = true
		}
		if r.bad {
			break
		}
		a.results = append(a.results, one)
	}
	return a, r.end("answer")
}

// reader takes values off bytes that may be anything. After the first that is
// not there all are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.b) < n {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) key() (k job.Key) {
	copy(k[:], r.take(len(k)))
	return k
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) count(most int) int {
	n := r.uvarint()
	if n > uint64(most) {
		r.bad = true
		return 0
	}
	return int(n)
}

// member reads the ID of one, or where that may be the case of none.
func (r *reader) member(none bool) string {
	id := string(r.take(int(r.byte())))
	if id == "" && none {
		return ""
	}
	if link.CheckID(id) != nil {
		r.bad = true
	}
	return id
}

func (r *reader) batch(form byte) batch {
	c := batch{claimant: r.member(false)}
	for range r.count(mostClaims) {
		var one claim
		if form == formerForm {
			one.occurrence = occurrence{catalog.FormerKey(r.uint64()), int64(r.uint64())}
		} else {
			one.occurrence = occurrence{r.key(), int64(r.uint64())}
			one.entry, one.former = r.key(), r.uint64()
		}
		one.from = r.member(true)
		if form == formerForm {
			r.byte() // whether it may have what was given back
		}
		if r.bad {
			break
		}
		c.claims = append(c.claims, one)
	}
	return c
}

func (r *reader) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("read %s: %w", what, errForm)
	}
	return nil
}
