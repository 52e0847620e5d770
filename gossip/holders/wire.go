package holders

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/wire"
)

// The kinds of messages. A message is a byte with its kind, followed by items until the end. Later
// versions can add values to the end of an item.
const (
	kindMarks = iota + 0x71
	kindQuestions
	kindAnswers
	kindNewest
)

// MaxItems is the greatest number of items in a message.
const MaxItems = 4096

// AppendMarks appends a message of as many marks as fit into room bytes, at most MaxItems,
// and returns their number.
func AppendMarks(b []byte, marks []Mark, room int) ([]byte, int) {
	start := len(b)
	b = append(b, kindMarks)
	var members wire.Members
	for i := range marks {
		whole := len(b)
		b = wire.AppendItem(b, appendState(encodeOccurrence(marks[i].Occurrence), &members, &marks[i]))
		if len(b)-start > room || i == MaxItems {
			return b[:whole], i
		}
	}
	return b, len(marks)
}

// DecodeMarks reads what AppendMarks wrote.
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
		item := binary.BigEndian.AppendUint32(encodeOccurrence(q.Occurrence), q.Serial)
		phase := byte(q.Phase)
		if q.Mine {
			phase |= mineBit
		}
		b = wire.AppendItem(b, binary.AppendUvarint(append(item, q.Generation, phase), uint64(q.Attempt)))
	}
	return b
}

// DecodeQuestions reads what AppendQuestions wrote.
func DecodeQuestions(b []byte) ([]Question, error) {
	return decode(b, kindQuestions, func(d *decoder) (q Question) {
		q.Occurrence, q.Serial = d.occurrence(), d.Uint32()
		q.Generation = d.Uint8()
		phase := d.Uint8()
		q.Phase, q.Mine = exchange.Phase(phase&^mineBit), phase&mineBit != 0
		q.Attempt = uint16(d.Number(math.MaxUint16))
		d.Check(q.Generation <= lastGeneration && q.Phase < exchange.Over && (q.Generation == 0) == (q.Phase == 0) && (q.Phase > 0 || q.Attempt == 0))
		return q
	})
}

// AppendAnswers appends a message of at most MaxItems answers.
func AppendAnswers(b []byte, answers []Answer) []byte {
	b = append(b, kindAnswers)
	var members wire.Members
	for i := range answers {
		item := binary.BigEndian.AppendUint32(encodeOccurrence(answers[i].Occurrence), answers[i].Serial)
		item = append(item, byte(answers[i].Reply))
		if answers[i].Reply == Known {
			item = appendState(item, &members, &answers[i].Mark)
		}
		b = wire.AppendItem(b, item)
	}
	return b
}

// DecodeAnswers reads what AppendAnswers wrote.
func DecodeAnswers(b []byte) ([]Answer, error) {
	return decode(b, kindAnswers, func(d *decoder) (a Answer) {
		a.Occurrence, a.Serial = d.occurrence(), d.Uint32()
		a.Reply = Reply(d.Uint8())
		d.Check(a.Reply >= Free && a.Reply < Silent)
		if a.Reply == Known {
			a.Mark.Occurrence = a.Occurrence
			d.state(&a.Mark)
		}
		return a
	})
}

// AppendNewest appends a message of at most MaxItems occurrences, one of each job, with the
// members that took them.
func AppendNewest(b []byte, list []Mark) []byte {
	b = append(b, kindNewest)
	var members wire.Members
	for _, n := range list {
		b = wire.AppendItem(b, members.Append(encodeOccurrence(n.Occurrence), n.Member))
	}
	return b
}

// DecodeNewest reads what AppendNewest wrote.
func DecodeNewest(b []byte) ([]Mark, error) {
	return decode(b, kindNewest, func(d *decoder) Mark { return Mark{Occurrence: d.occurrence(), Member: d.member()} })
}

func encodeOccurrence(o exchange.Occurrence) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(nil), o.Key[:]...), uint64(o.Due))
}

// vanishedBit marks the phase of a mark as Vanished.
const vanishedBit = 1 << 7

// givenUpBit marks the phase of a mark as GivenUp.
const givenUpBit = 1 << 6

// mineBit marks the phase of a question as Mine.
const mineBit = 1 << 7

func appendState(b []byte, members *wire.Members, m *Mark) []byte {
	b = members.Append(b, m.Member)
	phase := byte(m.Phase)
	if m.Vanished {
		phase |= vanishedBit
	}
	if m.GivenUp {
		phase |= givenUpBit
	}
	b = binary.AppendUvarint(append(b, m.Generation, phase), uint64(m.Attempt))
	b = binary.AppendUvarint(append(b, m.Lost), uint64(m.Run))
	if m.GivenUp {
		b = binary.BigEndian.AppendUint32(b, m.Started)
	}
	return b
}

// decoder reads an item of a message.
type decoder struct {
	*wire.Reader
	members *wire.Members // of the message
}

func decode[T any](b []byte, kind byte, item func(*decoder) T) ([]T, error) {
	r := wire.NewReader(b)
	r.Check(r.Uint8() == kind)
	var items []T
	var members wire.Members
	for r.More() {
		r.Item(func(in *wire.Reader) { items = append(items, item(&decoder{in, &members})) })
		r.Check(len(items) <= MaxItems)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("read message of the ring: %w", err)
	}
	return items, nil
}

func (d *decoder) occurrence() exchange.Occurrence {
	o := exchange.Occurrence{Key: d.Key(), Due: int64(d.Uint64())}
	d.Check(o.Due >= 0)
	return o
}

func (d *decoder) member() string { return d.members.Read(d.Reader) }

func (d *decoder) state(m *Mark) {
	m.Member = d.member()
	m.Generation = d.Uint8()
	phase := d.Uint8()
	m.Phase = exchange.Phase(phase &^ (vanishedBit | givenUpBit))
	m.Vanished, m.GivenUp = phase&vanishedBit != 0, phase&givenUpBit != 0
	m.Attempt = uint16(d.Number(math.MaxUint16))
	m.Lost = d.Uint8()
	m.Run = int64(d.Uvarint())
	if m.GivenUp {
		m.Started = d.Uint32()
	}
	d.Check(m.Generation <= lastGeneration && m.Phase >= exchange.Taken && m.Phase <= exchange.Over && (!m.Vanished || m.Phase > exchange.Taken) && (!m.GivenUp || m.Phase == exchange.Taken))
	d.Check(uint16(m.Lost) <= m.Attempt && m.Run >= 0)
}
