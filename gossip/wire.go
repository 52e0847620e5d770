package gossip

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

var errWire = errors.New("malformed")

// reader takes a wire form apart. After the first thing that does not fit all
// it gives is zero, so that a decoder looks at the error once.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) uint8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
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
	copy(k[:], r.take(jobKeyLen))
	return k
}

// text reads a string of at most limit bytes behind its length.
func (r *reader) text(limit int) string {
	n := int(r.uint8())
	if n > limit {
		r.bad = true
	}
	return string(r.take(n))
}

func (r *reader) time() time.Time { return fromNano(int64(r.uint64())) }

// bool reads 0 or 1, and nothing else.
func (r *reader) bool() bool {
	b := r.uint8()
	r.bad = r.bad || b > 1
	return b == 1
}

func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

// count reads how many things of at least size bytes follow: never more than
// there can be, so that a number alone makes nobody allocate.
func (r *reader) count(limit, size int) int {
	n := int(r.uint32())
	if n > limit || n > len(r.rest)/size {
		r.bad = true
		return 0
	}
	return n
}

// end says whether all was read and made sense.
func (r *reader) end() error {
	if r.bad || len(r.rest) > 0 {
		return errWire
	}
	return nil
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	b = append(b, byte(len(s)))
	return append(b, s...)
}

func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(toNano(t)))
}

func appendFloat(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

// toNano and fromNano keep the zero time zero: it means "never".
func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
