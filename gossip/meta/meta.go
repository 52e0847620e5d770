// Package meta owns the description that each member gives of itself in its messages, and its
// encoding.
package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/gossip/wire"
)

// Limits of a member's description of itself.
const (
	maxMeta    = 511 // memberlist panics above 512
	MaxName    = 64
	MaxVersion = 24
	MaxLabel   = 63  // each of a key and a value
	MaxLabels  = 256 // bytes of all labels as AppendLabels writes them
	MaxKeys    = 8
	MaxWeight  = 1e6
	MaxMembers = 4096 // in a ring
)

// The versions of the formats of all messages between members. The Meta of a member contains the
// version that it writes, and the oldest version whose readers understand its messages. A change
// that adds to the end of a message, where older readers ignore it, increases only Version.
// Any other change increases LeastVersion, too, and so does a change of rendezvous.Version: members
// with an older format cannot be in one ring with this one, and are reported.
const (
	Version      = 10
	LeastVersion = 10
)

// Meta is a member's description of itself, in each of its alive messages.
type Meta struct {
	Name    string
	Version string
	Weight  float64
	Since   time.Time // when it joined
	Stamp   time.Time // of this Meta; one with a later stamp replaces it
	Part    Part
	Root    Digest    // of its roster
	Edited  time.Time // the last change of its roster; zero: none since it joined
	Keys    []uint32  // fingerprints of its keys, the primary key first
	Rules   Rules
	Labels  map[string]string
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

// Digest identifies a roster, for comparison.
type Digest = [digestLen]byte

// Encode writes a Meta, which is shorter than 512 bytes if its parts observe the limits.
func (m *Meta) Encode() []byte {
	b := make([]byte, 0, maxMeta)
	b = append(b, Version)
	b = wire.AppendText(b, m.Name)
	b = wire.AppendText(b, m.Version)
	b = append(b, LeastVersion)
	b = wire.AppendFloat(b, m.Weight)
	b = wire.AppendTime(b, m.Since)
	b = wire.AppendTime(b, m.Stamp)
	b = append(b, byte(m.Part))
	b = append(b, m.Root[:]...)
	b = wire.AppendTime(b, m.Edited)
	b = binary.AppendUvarint(b, uint64(len(m.Keys)))
	for _, k := range m.Keys {
		b = binary.BigEndian.AppendUint32(b, k)
	}
	b = binary.BigEndian.AppendUint32(wire.AppendBool(b, m.Rules.Strict), uint32(m.Rules.HoldOff/time.Millisecond))
	b = binary.BigEndian.AppendUint64(b, m.Rules.Voters)
	return AppendLabels(b, m.Labels)
}

// FormError is the error for a member whose messages have a different format. All formats so far
// begin with the member's name and the version of its cronring.
type FormError struct {
	Form          uint8
	Name, Version string
}

func (e FormError) Error() string {
	return fmt.Sprintf("its messages have form %d, and this host's have form %d", e.Form, Version)
}

// Decode reads what Encode wrote. It ignores additional bytes, which later versions may write.
func Decode(b []byte) (Meta, error) {
	r := wire.NewReader(b)
	r.Check(len(b) <= maxMeta)
	form := r.Uint8()
	m := Meta{Name: r.Text(MaxName), Version: r.Text(MaxVersion)}
	if form < LeastVersion && len(b) > 0 || r.Uint8() > Version {
		return Meta{}, FormError{Form: form, Name: m.Name, Version: m.Version}
	}
	m = Meta{
		Name:    m.Name,
		Version: m.Version,
		Weight:  r.Float(),
		Since:   r.Time(),
		Stamp:   r.Time(),
		Part:    Part(r.Uint8()),
		Root:    ReadDigest(r),
		Edited:  r.Time(),
	}
	for range r.Number(MaxKeys) {
		m.Keys = append(m.Keys, r.Uint32())
	}
	m.Rules = Rules{Strict: r.Bool(), HoldOff: time.Duration(r.Uint32()) * time.Millisecond, Voters: r.Uint64()}
	m.Labels = readLabels(r)
	if err := r.Err(); err != nil {
		return Meta{}, err
	}
	return m, m.check()
}

// lastStamp is the greatest valid stamp. Each stamp of a member must be later than all its earlier
// stamps, and 64 bits of nanoseconds end in 2262.
var lastStamp = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// check rejects values that no member writes.
func (m *Meta) check() error {
	switch {
	case !Printable(m.Name) || m.Name == "" || !Printable(m.Version):
		return errors.New("a name with unprintable characters")
	case !(m.Weight > 0) || m.Weight > MaxWeight:
		return errors.New("an invalid weight")
	case m.Stamp.IsZero() || m.Since.IsZero() || m.Part > Draining:
		return errors.New("a missing time, or an unknown state")
	case m.Stamp.After(lastStamp):
		return errors.New("a stamp too late for further ones")
	}
	return nil
}

// ReadDigest reads a digest.
func ReadDigest(r *wire.Reader) (d Digest) {
	copy(d[:], r.Take(digestLen))
	return d
}

// AppendLabels writes labels in the order of their keys, so that equal labels are equal bytes.
func AppendLabels(b []byte, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b = wire.AppendText(wire.AppendText(b, k), labels[k])
	}
	return b
}

// readLabels reads what AppendLabels wrote, and rejects other orders.
func readLabels(r *wire.Reader) map[string]string {
	var labels map[string]string
	last := ""
	for i := range r.Number(MaxLabels) {
		k, v := r.Text(MaxLabel), r.Text(MaxLabel)
		r.Check((i == 0 || k > last) && Printable(k) && Printable(v))
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

// Sum returns the digest of some bytes.
func Sum(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:digestLen])
}

// Printable reports whether a text is UTF-8 without control characters.
func Printable(s string) bool {
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
