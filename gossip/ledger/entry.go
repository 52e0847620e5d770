package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/wire"
)

// Limits of an entry and of a request.
const (
	mostClaims  = 1024 // of an entry; further claims wait for the next one
	mostBatches = mostClaims

	// mostToken is a token that no ring reaches. A greater one is due to a fault of its sender. As the newest
	// token it would stop all grants, because no log contains its entry.
	mostToken = 1 << 48
)

// The versions of the formats on disk and in messages.
const (
	entryForm    = 6
	requestForm  = 6
	answerForm   = 3
	snapshotForm = 6
	formerForm   = 2 // of entries and snapshots of version 0.7.0: without entry hashes, owners and starts, and with former keys
)

// claim is one occurrence that a member claims. The occurrence may be taken from the member in
// from, because that member is dead or gave the occurrence up. If that member claimed it in a later
// start than gaveUp, it has taken it back, and this claim, which can arrive late, is refused.
type claim struct {
	exchange.Occurrence
	entry  job.Key // the hash of the claimant's entry; zero: unknown
	former uint64  // the key of the job in version 0.7.0, see catalog.FormerKey; 0: unknown
	owner  uint64  // hash of the user in whose crontab the job is: voters may not have the job; 0: unknown
	from   string
	gaveUp uint32 // see holders.Claim
}

// apart returns the claim under a key that only claims for the same entry have. It is for an
// occurrence that was granted for another entry, and therefore for another job.
func (c claim) apart() claim {
	c.Key = job.SumKey(append(c.Key[:], c.entry[:]...))
	c.former = 0
	return c
}

// batch is a list of claims of one member.
type batch struct {
	claimant string
	started  uint32 // number of its daemon's start; 0: unknown
	claims   []claim
}

// entry is an entry of the log: the claims that arrived together, and the leader's time, so
// that all voters forget the same grants.
type entry struct {
	time    int64
	batches []batch
	base    uint64 // not 0: the grants are recovered, with this base
}

// result is the decision on one claim.
type result struct {
	grant holders.Grant
	by    string
	token uint64
	other bool   // refused, and granted for another entry before
	term  uint64 // raft's term of the entry with the grant
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func (e entry) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{entryForm}, uint64(e.time))
	b = binary.AppendUvarint(b, e.base)
	b = binary.AppendUvarint(b, uint64(len(e.batches)))
	for _, batch := range e.batches {
		b = batch.appendTo(b)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}

func (c batch) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(wire.AppendText(b, c.claimant), c.started)
	b = binary.AppendUvarint(b, uint64(len(c.claims)))
	for _, claim := range c.claims {
		b = append(b, claim.Key[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(claim.Due))
		b = append(b, claim.entry[:]...)
		b = binary.BigEndian.AppendUint64(b, claim.former)
		b = binary.BigEndian.AppendUint64(b, claim.owner)
		b = binary.BigEndian.AppendUint32(wire.AppendText(b, claim.from), claim.gaveUp)
	}
	return b
}

func decodeEntry(b []byte) (entry, error) {
	if len(b) < 4 {
		return entry{}, fmt.Errorf("read entry: %w", wire.ErrMalformed)
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crcTable) != sum {
		return entry{}, errors.New("read entry: wrong checksum")
	}
	r := wire.NewReader(body)
	form := r.Uint8()
	if form != entryForm && form != formerForm {
		return entry{}, fmt.Errorf("read entry: form %d is unknown", form)
	}
	e := entry{time: int64(r.Uint64())}
	if form != formerForm {
		e.base = r.Uvarint()
	}
	for range r.Count(mostBatches, 1) {
		e.batches = append(e.batches, readBatch(r, form))
		if r.Err() != nil {
			break
		}
	}
	return e, failed(r.End(), "entry")
}

// request contains claims for a voter. The claimant is the sender, unless a voter forwarded the
// request.
type request struct {
	forwarded bool
	seen      newestToken
	batch
}

func (q request) encode() []byte {
	return q.batch.appendTo(q.seen.appendTo(wire.AppendBool([]byte{requestForm}, q.forwarded)))
}

// decodeRequest reads what encode wrote. It ignores additional bytes, which later versions may write.
func decodeRequest(b []byte) (request, error) {
	r := wire.NewReader(b)
	if form := r.Uint8(); form != requestForm {
		return request{}, fmt.Errorf("read claims: form %d is unknown", form)
	}
	q := request{forwarded: r.Bool(), seen: newestToken{r.Uint64(), r.Uint64()}, batch: readBatch(r, entryForm)}
	r.Check(q.seen.token <= mostToken)
	return q, failed(r.Err(), "claims")
}

// newestToken is the greatest token known to this member.
type newestToken struct {
	token uint64
	term  uint64 // raft's term of the entry with that grant
}

func (s newestToken) appendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.token), s.term)
}

// answer is a voter's answer to claims: the results, or that it does not lead.
type answer struct {
	decided bool
	leader  string // or ""
	results []result
}

func (a answer) encode() []byte {
	if !a.decided {
		return wire.AppendText([]byte{answerForm, 0}, a.leader)
	}
	b := wire.AppendText([]byte{answerForm, 1}, a.leader)
	b = binary.AppendUvarint(b, uint64(len(a.results)))
	for _, r := range a.results {
		b = append(b, byte(r.grant))
		b = wire.AppendText(b, r.by)
		b = wire.AppendBool(binary.AppendUvarint(b, r.token), r.other)
		b = binary.AppendUvarint(b, r.term)
	}
	return b
}

// decodeAnswer reads what encode wrote. It ignores additional bytes, which later versions may write.
func decodeAnswer(b []byte) (answer, error) {
	r := wire.NewReader(b)
	if form := r.Uint8(); form != answerForm {
		return answer{}, fmt.Errorf("read answer: form %d is unknown", form)
	}
	a := answer{decided: r.Bool(), leader: r.MemberOrNone()}
	if !a.decided {
		return a, failed(r.Err(), "answer")
	}
	for range r.Count(mostClaims, 1) {
		one := result{grant: holders.Grant(r.Uint8()), by: r.MemberOrNone(), token: r.Uvarint(), other: r.Bool(), term: r.Uvarint()}
		r.Check((one.grant == holders.Granted || one.grant == holders.Refused) && one.token <= mostToken)
		if r.Err() != nil {
			break
		}
		a.results = append(a.results, one)
	}
	return a, failed(r.Err(), "answer")
}

// readBatch reads what appendTo wrote, or a batch of version 0.7.0.
func readBatch(r *wire.Reader, form byte) batch {
	c := batch{claimant: r.Member()}
	if form != formerForm {
		c.started = r.Uint32()
	}
	for range r.Count(mostClaims, 1) {
		var one claim
		if form == formerForm {
			one.Occurrence = exchange.Occurrence{Key: catalog.FormerKey(r.Uint64()), Due: int64(r.Uint64())}
			one.from = r.MemberOrNone()
			r.Uint8() // an option that no longer exists
		} else {
			one.Occurrence = exchange.Occurrence{Key: r.Key(), Due: int64(r.Uint64())}
			one.entry, one.former, one.owner, one.from, one.gaveUp = r.Key(), r.Uint64(), r.Uint64(), r.MemberOrNone(), r.Uint32()
		}
		if r.Err() != nil {
			break
		}
		c.claims = append(c.claims, one)
	}
	return c
}

// failed adds to an error what could not be read.
func failed(err error, what string) error {
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}
