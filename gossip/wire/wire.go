// Package wire owns the binary encoding of the messages between members of a ring, and of
// their ledger on disk. Numbers of a fixed size are big-endian, texts follow a byte with
// their length, and times are nanoseconds since 1970. Numbers of variable size are those of
// encoding/binary.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// MaxID is the greatest length of a member ID.
const MaxID = 64

// CheckID returns what is wrong with a member ID: it has 1 to MaxID characters a to z, 0 to 9
// and hyphen.
func CheckID(id string) error {
	if id == "" || len(id) > MaxID {
		return fmt.Errorf("invalid member ID %q: expected 1 to %d characters", id, MaxID)
	}
	if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("invalid member ID %q: expected only a-z, 0-9 and -", id)
	}
	return nil
}

// AppendText appends a text of at most 255 bytes.
func AppendText(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

// AppendBool appends 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendTime appends a time. The zero time is 0.
func AppendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.BigEndian.AppendUint64(b, 0)
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano()))
}

// AppendFloat appends a floating-point number.
func AppendFloat(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

// AppendItem appends one of several items of a message, after its length.
func AppendItem(b, item []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(item))), item...)
}

// ErrMalformed is the error of a message that ends too early, is too long, or has a value
// that no member writes.
var ErrMalformed = errors.New("malformed message")

// Reader reads values from an untrusted message. After the first value that is missing or
// invalid, all further values are zero. Callers check the error once, when they have read all
// values.
type Reader struct {
	rest   []byte
	stream io.Reader // nil: rest is all there is
	err    error
}

// NewReader returns a Reader of a message.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// NewStream returns a Reader of a message that may be large.
func NewStream(from io.Reader) *Reader { return &Reader{stream: from} }

// streamBuffer is the size of one read from a stream, in bytes.
const streamBuffer = 64 << 10

// fill reads from the stream until n bytes are available, or the stream ends.
func (r *Reader) fill(n int) {
	if r.stream == nil || len(r.rest) >= n {
		return
	}
	b := make([]byte, max(n, streamBuffer))
	had := copy(b, r.rest)
	got, err := io.ReadAtLeast(r.stream, b[had:], n-had)
	r.rest = b[:had+got]
	if err != nil {
		r.stream = nil
	}
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		r.err = err
	}
}

// Check marks the message as malformed unless a condition holds that all writers observe.
func (r *Reader) Check(holds bool) {
	if !holds && r.err == nil {
		r.err = ErrMalformed
	}
}

// Err returns the first error, if any.
func (r *Reader) Err() error { return r.err }

// More reports whether there is more to read.
func (r *Reader) More() bool {
	r.fill(1)
	return r.err == nil && len(r.rest) > 0
}

// End returns the error of a message that must end here. Messages that later versions can
// extend are read without End.
func (r *Reader) End() error {
	r.Check(!r.More())
	return r.err
}

// Take returns the next n bytes, or nil.
func (r *Reader) Take(n int) []byte {
	r.fill(n)
	r.Check(n >= 0 && n <= len(r.rest))
	if r.err != nil {
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// Item reads what AppendItem wrote. It ignores bytes that read leaves, which later versions may
// write. Item is not for streams.
func (r *Reader) Item(read func(*Reader)) {
	item := NewReader(r.Take(r.Number(len(r.rest))))
	read(item)
	r.Check(item.err == nil)
}

// Rest returns all unread bytes. It is not for streams.
func (r *Reader) Rest() []byte { return r.Take(len(r.rest)) }

// Uint8 reads a number of 1 byte.
func (r *Reader) Uint8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads a number of 4 bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a number of 8 bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads an unsigned number of variable size.
func (r *Reader) Uvarint() uint64 { return variable(r, binary.Uvarint) }

// Varint reads a signed number of variable size.
func (r *Reader) Varint() int64 { return variable(r, binary.Varint) }

func variable[T uint64 | int64](r *Reader, read func([]byte) (T, int)) T {
	r.fill(binary.MaxVarintLen64)
	v, n := read(r.rest)
	r.Check(n == 1 || n > 1 && r.rest[n-1] != 0) // not longer than necessary
	if r.err != nil {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Number reads a number from 0 to limit, of variable size.
func (r *Reader) Number(limit int) int {
	n := r.Uvarint()
	r.Check(n <= uint64(limit))
	if r.err != nil {
		return 0
	}
	return int(n)
}

// Count reads the number of values that follow, each at least size bytes long. The number must
// not exceed limit, nor what the rest of the message can contain. Count is not for streams.
func (r *Reader) Count(limit, size int) int {
	n := r.Number(limit)
	r.Check(n <= len(r.rest)/size)
	if r.err != nil {
		return 0
	}
	return n
}

// Bool reads 0 or 1.
func (r *Reader) Bool() bool {
	b := r.Uint8()
	r.Check(b <= 1)
	return b == 1
}

// Float reads a floating-point number.
func (r *Reader) Float() float64 { return math.Float64frombits(r.Uint64()) }

// Time reads a time, in UTC. 0 is the zero time.
func (r *Reader) Time() time.Time {
	n := int64(r.Uint64())
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// Key reads the key of a job, or of an entry.
func (r *Reader) Key() (k [16]byte) {
	copy(k[:], r.Take(len(k)))
	return k
}

// Text reads a text of at most limit bytes.
func (r *Reader) Text(limit int) string {
	n := int(r.Uint8())
	r.Check(n <= limit)
	return string(r.Take(n))
}

// Member reads a member ID.
func (r *Reader) Member() string {
	id := r.Text(MaxID)
	r.Check(CheckID(id) == nil)
	return id
}

// MemberOrNone reads a member ID or "".
func (r *Reader) MemberOrNone() string {
	id := r.Text(MaxID)
	r.Check(id == "" || CheckID(id) == nil)
	return id
}

// Members numbers the member IDs of a message. An ID is written in full where it occurs
// first, and later as its number.
type Members struct {
	ids     []string
	numbers map[string]uint64
}

// add returns the number of an ID, and whether the ID is new.
func (m *Members) add(id string) (number uint64, isNew bool) {
	if number, ok := m.numbers[id]; ok {
		return number, false
	}
	if m.numbers == nil {
		m.numbers = map[string]uint64{}
	}
	m.numbers[id] = uint64(len(m.ids))
	m.ids = append(m.ids, id)
	return m.numbers[id], true
}

// Append appends a member ID, or its number.
func (m *Members) Append(b []byte, id string) []byte {
	number, isNew := m.add(id)
	b = binary.AppendUvarint(b, number)
	if isNew {
		b = AppendText(b, id)
	}
	return b
}

// Read reads what Append wrote.
func (m *Members) Read(r *Reader) string {
	number := r.Uvarint()
	r.Check(number <= uint64(len(m.ids)))
	switch {
	case r.err != nil:
		return ""
	case number < uint64(len(m.ids)):
		return m.ids[number]
	}
	id := r.Member()
	if r.err == nil {
		_, isNew := m.add(id)
		r.Check(isNew)
	}
	return id
}
