package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Key identifies a job where its ID would be too long: in maps, in the database and between the
// members of a ring. It is the start of a SHA-256, so that users cannot choose a name that collides
// with the key of another user's job.
type Key [16]byte

// KeyOf returns the key of a job, from its ID, which contains its owner, and the user that it runs
// as. The hash includes the length of the ID, so that different pairs never have the same input.
func KeyOf(id ID, user string) Key {
	var room [128]byte
	b := binary.AppendUvarint(room[:0], uint64(len(id)))
	b = append(b, id...)
	b = append(b, user...)
	return SumKey(b)
}

// SumKey returns the first bytes of the SHA-256 of text.
func SumKey(text []byte) Key {
	sum := sha256.Sum256(text)
	return Key(sum[:len(Key{})])
}

// Compare orders keys by their bytes.
func (k Key) Compare(other Key) int { return bytes.Compare(k[:], other[:]) }

// Uint64 returns the first eight bytes as a number. Rendezvous hashing uses it only to distribute
// jobs.
func (k Key) Uint64() uint64 { return binary.BigEndian.Uint64(k[:]) }

// String returns the key in hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText is String, for JSON.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *Key) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(k) {
		return fmt.Errorf("invalid key %q: expected %d hexadecimal digits", text, 2*len(k))
	}
	copy(k[:], b)
	return nil
}
