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

// Limits of a member's description of itself.
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

// The versions of the formats of all messages between members. The meta of a member contains the
// version that it writes, and the oldest version whose readers understand its messages. A change
// that adds to the end of a message, where older readers ignore it, increases only metaVersion.
// Any other change increases leastVersion, too: members with an older format cannot be in one
// ring with this one, and are reported.
const (
	metaVersion  = 6
	leastVersion = 6
)

// meta is a member's description of itself, in each of its alive messages.
type meta struct {
	name     string
	version  string
	order    uint8 // its rendezvous.Version
	linkPort uint16
	weight   float64
	since    time.Time // when it joined
	stamp    time.Time // of this meta; one with a later stamp replaces it
	part     Part
	root     digest    // of its roster
	edited   time.Time // the last change of its roster; zero: none since it joined
	keys     []uint32  // fingerprints of its keys, the primary key first
	labels   map[string]string
	wide     bool   // the labels did not fit, and must be requested
	labelSum digest // of all labels
	rules    Rules
}

// Part is a member's part in the ring: which occurrences it claims.
type Part uint8

// The parts.
const (
	Joining  Part = iota // none yet
	Active               // all occurrences that it owns
	Draining             // no new ones: it is drained, leaves, or its clock is wrong
)

const digestLen = 8

type digest = [digestLen]byte

// encode writes a meta in less than 512 bytes. If the labels do not fit, they are omitted, and
// other members request them.
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

// formError is the error for a member whose messages have a different format. All formats so far
// begin with the member's name and the version of its cronring.
type formError struct {
	form          uint8
	name, version string
}

func (e formError) Error() string {
	return fmt.Sprintf("its messages have form %d, and this host's have form %d", e.form, metaVersion)
}

// decodeMeta reads what encode wrote. It ignores additional bytes, which later versions may write.
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

// lastStamp is the greatest valid stamp. Each stamp of a member must be later than all its earlier
// stamps, and 64 bits of nanoseconds end in 2262.
var lastStamp = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// check rejects values that no member writes.
func (m *meta) check() error {
	switch {
	case !printable(m.name) || m.name == "" || !printable(m.version):
		return errors.New("a name with unprintable characters")
	case !(m.weight > 0) || m.weight > maxWeight:
		return errors.New("an invalid weight")
	case m.stamp.IsZero() || m.since.IsZero() || m.part > Draining:
		return errors.New("a missing time, or an unknown state")
	case m.stamp.After(lastStamp):
		return errors.New("a stamp too late for further ones")
	case !m.wide && sumLabels(m.labels) != m.labelSum:
		return errors.New("labels with a wrong checksum")
	}
	return nil
}

func readSum(r *wire.Reader) (d digest) {
	copy(d[:], r.Take(digestLen))
	return d
}

// appendLabels writes labels in the order of their keys, so that equal labels are equal bytes.
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

// fingerprint identifies a key without revealing it.
func fingerprint(key []byte) uint32 {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("cronring key print"))
	return binary.BigEndian.Uint32(h.Sum(nil))
}
