package register

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/cronring/cronring/daemon/job"
)

// The wire forms: a byte that says what follows, and items until the end. All
// numbers are big-endian. A member's ID is written where it stands first, and is a
// number from then on. There is one form of each message: what a decoder
// accepts, an encoder wrote. The high digit is the version of a form.
const (
	kindMarks     = 0x41
	kindQuestions = 0x32
	kindAnswers   = 0x43
	kindNewest    = 0x24
)

// MaxItems is how many items a message has at most.
const MaxItems = 4096

// MaxID is how long a member's ID is at most.
const MaxID = 64

// GoodID tells whether a text can be a member's ID.
func GoodID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != "" && len(id) <= MaxID
}

// AppendMarks appends a message of as many of marks as fit into room bytes, at
// most MaxItems, and returns how many those are.
func AppendMarks(b []byte, marks []Mark, room int) ([]byte, int) {
	start := len(b)
	b = append(b, kindMarks)
	var ids names
	for i := range marks {
		whole := len(b)
		b = appendOccurrence(b, marks[i].Occurrence)
		b = ids.appendState(b, &marks[i])
		if len(b)-start > room || i == MaxItems {
			return b[:whole], i
		}
	}
	return b, len(marks)
}

// DecodeMarks reads a message of AppendMarks.
func DecodeMarks(b []byte) ([]Mark, error) {
	return decode(b, kindMarks, func(d *decoder) (m Mark) {
		m.Occurrence = d.occurrence()
		d.state(&m)
		return m
	})
}

// AppendQuestions appends a message of at most MaxItems questions.
func AppendQuestions(b []byte, questions []Question) []byte {
	b = append(b, kindQuestions)
	for _, q := range questions {
		b = binary.BigEndian.AppendUint32(appendOccurrence(b, q.Occurrence), q.Serial)
		phase := byte(q.Phase)
		if q.Mine {
			phase |= mineBit
		}
		b = binary.BigEndian.AppendUint16(append(b, q.Generation, phase), q.Attempt)
	}
	return b
}

// DecodeQuestions reads a message of AppendQuestions.
func DecodeQuestions(b []byte) ([]Question, error) {
	return decode(b, kindQuestions, func(d *decoder) (q Question) {
		q.Occurrence, q.Serial = d.occurrence(), d.serial()
		q.Generation = d.byte()
		phase := d.byte()
		q.Phase, q.Mine = Phase(phase&^mineBit), phase&mineBit != 0
		q.Attempt = binary.BigEndian.Uint16(d.take(2))
		d.check(q.Generation <= lastGeneration && q.Phase < Over && (q.Generation == 0) == (q.Phase == 0) && (q.Phase > 0 || q.Attempt == 0))
		return q
	})
}

// AppendAnswers appends a message of at most MaxItems answers.
func AppendAnswers(b []byte, answers []Answer) []byte {
	b = append(b, kindAnswers)
	var ids names
	for i := range answers {
		b = binary.BigEndian.AppendUint32(appendOccurrence(b, answers[i].Occurrence), answers[i].Serial)
		b = append(b, byte(answers[i].Reply))
		if answers[i].Reply == Known {
			b = ids.appendState(b, &answers[i].Mark)
		}
	}
	return b
}

// DecodeAnswers reads a message of AppendAnswers.
func DecodeAnswers(b []byte) ([]Answer, error) {
	return decode(b, kindAnswers, func(d *decoder) (a Answer) {
		a.Occurrence, a.Serial = d.occurrence(), d.serial()
		a.Reply = Reply(d.byte())
		d.check(a.Reply >= Free && a.Reply < Silent)
		if a.Reply == Known {
			a.Mark.Occurrence = a.Occurrence
			d.state(&a.Mark)
		}
		return a
	})
}

// AppendNewest appends a message of at most MaxItems occurrences, each of
// another job.
func AppendNewest(b []byte, list []Newest) []byte {
	b = append(b, kindNewest)
	var ids names
	for _, n := range list {
		b = ids.appendMember(appendOccurrence(b, n.Occurrence), n.Member)
	}
	return b
}

// DecodeNewest reads a message of AppendNewest.
func DecodeNewest(b []byte) ([]Newest, error) {
	return decode(b, kindNewest, func(d *decoder) Newest { return Newest{d.occurrence(), d.member()} })
}

func appendOccurrence(b []byte, o Occurrence) []byte {
	return binary.BigEndian.AppendUint64(append(b, o.Key[:]...), uint64(o.Due))
}

// vanishedBit marks the phase of a mark as Vanished.
const vanishedBit = 1 << 7

// mineBit marks the phase of a question as Mine.
const mineBit = 1 << 7

// names are the IDs of a message, in the order in which they came.
type names struct {
	ids    []string
	places map[string]int
}

// add returns the place of an ID, and whether it is a new one.
func (n *names) add(id string) (place int, isNew bool) {
	if place, ok := n.places[id]; ok {
		return place, false
	}
	if n.places == nil {
		n.places = map[string]int{}
	}
	n.places[id] = len(n.ids)
	n.ids = append(n.ids, id)
	return len(n.ids) - 1, true
}

func (n *names) appendMember(b []byte, id string) []byte {
	i, isNew := n.add(id)
	b = binary.BigEndian.AppendUint16(b, uint16(i))
	if isNew {
		b = append(append(b, byte(len(id))), id...)
	}
	return b
}

func (n *names) appendState(b []byte, m *Mark) []byte {
	b = n.appendMember(b, m.Member)
	phase := byte(m.Phase)
	if m.Vanished {
		phase |= vanishedBit
	}
	b = binary.BigEndian.AppendUint16(append(b, m.Generation, phase), m.Attempt)
	return binary.BigEndian.AppendUint64(append(b, m.Lost), uint64(m.Run))
}

var errMessage = errors.New("read message of the ring: it is malformed")

// decoder reads a message; from the first fault on it reads zeros.
type decoder struct {
	rest  []byte
	names names
	bad   bool
}

func decode[T any](b []byte, kind byte, item func(*decoder) T) ([]T, error) {
	d := &decoder{rest: b}
	d.check(d.byte() == kind)
	var items []T
	for len(d.rest) > 0 && !d.bad {
		items = append(items, item(d))
		d.check(len(items) <= MaxItems)
	}
	if d.bad {
		return nil, errMessage
	}
	return items, nil
}

func (d *decoder) check(good bool) { d.bad = d.bad || !good }

func (d *decoder) take(n int) []byte {
	if d.bad || len(d.rest) < n {
		d.bad = true
		return make([]byte, n)
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) byte() byte { return d.take(1)[0] }

func (d *decoder) serial() uint32 { return binary.BigEndian.Uint32(d.take(4)) }

// number reads one of 63 bits.
func (d *decoder) number() int64 {
	n := binary.BigEndian.Uint64(d.take(8))
	d.check(n <= math.MaxInt64)
	return int64(n & math.MaxInt64)
}

func (d *decoder) occurrence() Occurrence {
	return Occurrence{Key: job.Key(d.take(len(job.Key{}))), Due: d.number()}
}

func (d *decoder) member() (id string) {
	i := int(binary.BigEndian.Uint16(d.take(2)))
	switch ids := d.names.ids; {
	case i < len(ids):
		id = ids[i]
	case i == len(ids):
		id = string(d.take(int(d.byte())))
		_, isNew := d.names.add(id)
		d.check(isNew && GoodID(id))
	default:
		d.bad = true
	}
	return id
}

func (d *decoder) state(m *Mark) {
	m.Member = d.member()
	m.Generation = d.byte()
	phase := d.byte()
	m.Phase, m.Vanished = Phase(phase&^vanishedBit), phase&vanishedBit != 0
	m.Attempt = binary.BigEndian.Uint16(d.take(2))
	m.Lost = d.byte()
	m.Run = d.number()
	d.check(m.Generation <= lastGeneration && m.Phase >= Taken && m.Phase <= Over && (!m.Vanished || m.Phase > Taken))
	d.check(uint16(m.Lost) <= m.Attempt)
}
