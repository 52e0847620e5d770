package gossip

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/gossip/wire"
)

// Bounds of what a member may say of itself.
const (
	maxMeta    = 511 // memberlist panics above 512
	maxID      = 64
	maxName    = 64
	maxVersion = 24
	maxLabel   = 63 // each of a key and a value
	maxLabels  = 64
	maxKeys    = 8
	maxWeight  = 1e6
)

// The forms of what members say to each other: of a meta, and of all other messages. A
// member says in its meta which form it writes, and the oldest form whose readers
// understand it. A change that adds to the end of a message, where older readers ignore
// it, raises metaVersion alone. Any other change raises leastVersion, too: the encoder of
// that message then writes the form that its reader says in its meta.
const (
	metaVersion  = 6
	leastVersion = 6
)

// meta is what a member says of itself in each of its alive messages.
type meta struct {
	name     string
	version  string
	order    uint8 // rendezvous.Version of it
	linkPort uint16
	weight   float64
	since    time.Time // it came
	stamp    time.Time // of this word; a later one replaces it
	part     Part
	root     digest    // of its roster
	edited   time.Time // when that changed last; zero: not since it joined
	keys     []uint32  // prints of the keys that it reads, the one that it writes with first
	labels   map[string]string
	wide     bool   // the labels did not fit: they are asked for
	labelSum digest // of all labels
	rules    Rules
}

// Part is what a member takes of the occurrences that come due.
type Part uint8

// The parts.
const (
	Joining  Part = iota // nothing yet
	Active               // those that it owns
	Draining             // nothing new any more: it is drained, about to leave, or its clock is off
)

const digestLen = 8

type digest = [digestLen]byte

// encode writes a meta in less than 512 bytes: labels that are too many are
// left out, and asked for by whoever sees that.
func (m *meta) encode() []byte {
	b := make([]byte, 0, maxMeta)
	b = append(b, metaVersion)
	b = wire.AppendText(b, m.name)
	b = wire.AppendText(b, m.version)
	b = append(b, leastVersion, m.order)
	b = binary.BigEndian.AppendUint16(b, m.linkPort)
	b = wire.AppendFloat(b, m.weight)
	b = wire.AppendTime(b, m.since)
	b = wire.AppendTime(b, m.stamp)
	b = append(b, byte(m.part))
	b = append(b, m.root[:]...)
	b = wire.AppendTime(b, m.edited)
	b = binary.AppendUvarint(b, uint64(len(m.keys)))
	for _, k := range m.keys {
		b = binary.BigEndian.AppendUint32(b, k)
	}
	sum := sumLabels(m.labels)
	b = append(b, sum[:]...)
	b = binary.BigEndian.AppendUint32(wire.AppendBool(b, m.rules.Strict), uint32(m.rules.HoldOff/time.Millisecond))
	if whole := appendLabels(append(b, 1), m.labels); len(whole) <= maxMeta {
		return whole
	}
	return append(b, 0)
}

// formError is the error of a member whose messages have another form. Each form so far
// begins with the member's name and the version of its cronring.
type formError struct {
	form          uint8
	name, version string
}

func (e formError) Error() string {
	return fmt.Sprintf("its messages have form %d, and this host's have form %d", e.form, metaVersion)
}

// decodeMeta reads what encode wrote, from anybody. What follows it is of a later version.
func decodeMeta(b []byte) (meta, error) {
	r := wire.NewReader(b)
	r.Check(len(b) <= maxMeta)
	form := r.Uint8()
	m := meta{name: r.Text(maxName), version: r.Text(maxVersion)}
	if form < leastVersion && len(b) > 0 || r.Uint8() > metaVersion {
		return meta{}, formError{form: form, name: m.name, version: m.version}
	}
	m = meta{
		name:     m.name,
		version:  m.version,
		order:    r.Uint8(),
		linkPort: r.Uint16(),
		weight:   r.Float(),
		since:    r.Time(),
		stamp:    r.Time(),
		part:     Part(r.Uint8()),
		root:     readSum(r),
		edited:   r.Time(),
	}
	for range r.Number(maxKeys) {
		m.keys = append(m.keys, r.Uint32())
	}
	m.labelSum = readSum(r)
	m.rules = Rules{Strict: r.Bool(), HoldOff: time.Duration(r.Uint32()) * time.Millisecond}
	if m.wide = !r.Bool(); !m.wide {
		m.labels = readLabels(r)
	}
	if err := r.Err(); err != nil {
		return meta{}, err
	}
	return m, m.check()
}

// lastStamp bounds a member's stamps. Each is later than all before it, also than
// those that others say it gave, and what nanoseconds can count ends in 2262.
var lastStamp = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// check refuses what no member says in earnest.
func (m *meta) check() error {
	switch {
	case !printable(m.name) || m.name == "" || !printable(m.version):
		return errors.New("a name that cannot be shown")
	case !(m.weight > 0) || m.weight > maxWeight:
		return errors.New("a weight that makes no sense")
	case m.stamp.IsZero() || m.since.IsZero() || m.part > Draining:
		return errors.New("no times, or an unknown state")
	case m.stamp.After(lastStamp):
		return errors.New("a stamp that leaves no room for later ones")
	case !m.wide && sumLabels(m.labels) != m.labelSum:
		return errors.New("labels that are not its own")
	}
	return nil
}

func readSum(r *wire.Reader) (d digest) {
	copy(d[:], r.Take(digestLen))
	return d
}

// appendLabels writes labels by key, so that equal ones are equal bytes.
func appendLabels(b []byte, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, k := range sortedKeys(labels) {
		b = wire.AppendText(wire.AppendText(b, k), labels[k])
	}
	return b
}

func readLabels(r *wire.Reader) map[string]string {
	var labels map[string]string
	last := ""
	for i := range r.Number(maxLabels) {
		k, v := r.Text(maxLabel), r.Text(maxLabel)
		r.Check((i == 0 || k > last) && printable(k) && printable(v))
		if r.Err() != nil {
			return nil
		}
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[k], last = v, k
	}
	return labels
}

func sumLabels(labels map[string]string) digest {
	return sumOf(appendLabels(nil, labels))
}

func sumOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:digestLen])
}

func sortedKeys(labels map[string]string) []string {
	keys := make([]string, 0, len(labels))
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// fingerprint tells a key from another one without telling it.
func fingerprint(key []byte) uint32 {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("cronring key print"))
	return binary.BigEndian.Uint32(h.Sum(nil))
}
