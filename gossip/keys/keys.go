// Package keys owns the secret keys of a ring, with their file, and the rules for changing them.
package keys

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/gossip/meta"
)

// Len is the length of a key in bytes: AES-256.
const Len = 32

// Read reads a file of keys, in base64, one on each line. The first one is the primary key,
// which encrypts. The file must belong to root or to this process's user, and no other user may
// be able to read or replace it.
func Read(path string) ([][]byte, error) {
	b, err := readSecret(path)
	if err != nil {
		return nil, fmt.Errorf("read the ring's keys: %w", err)
	}
	keys, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read the ring's keys: %s: %w", path, err)
	}
	return keys, nil
}

// readSecret reads a file after checking who can read or replace it.
func readSecret(path string) ([]byte, error) {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if !own(dir) || dir.Mode().Perm()&0o022 != 0 && dir.Mode()&os.ModeSticky == 0 {
		return nil, fmt.Errorf("%s: other users can change its directory", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case !own(info):
		return nil, fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("other users can read %s (mode %04o; fix: chmod 600 %s)", path, info.Mode().Perm(), path)
	}
	return atomicfile.Read(f)
}

// own reports whether a file belongs to root or to this process's user.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// Parse parses the content of such a file.
func Parse(b []byte) ([][]byte, error) {
	var keys [][]byte
	n := 0
	for line := range bytes.Lines(b) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil || len(key) != Len {
			return nil, fmt.Errorf("line %d is not %d bytes in base64", n, Len)
		}
		keys = append(keys, key)
	}
	return keys, Check(keys)
}

// Check rejects keys of a wrong length, duplicates, and too many keys.
func Check(keys [][]byte) error {
	if len(keys) == 0 || len(keys) > meta.MaxKeys {
		return fmt.Errorf("%d keys: expected 1 to %d", len(keys), meta.MaxKeys)
	}
	for i, k := range keys {
		if len(k) != Len {
			return fmt.Errorf("key %d has %d bytes: expected %d", i+1, len(k), Len)
		}
		if slices.ContainsFunc(keys[:i], func(o []byte) bool { return bytes.Equal(o, k) }) {
			return fmt.Errorf("key %d is a duplicate", i+1)
		}
	}
	return nil
}

func hasKey(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}

// Fingerprints identifies each key without revealing it.
func Fingerprints(keys [][]byte) []uint32 {
	prints := make([]uint32, len(keys))
	for i, k := range keys {
		prints[i] = fingerprint(k)
	}
	return prints
}

var errNoKeys = errors.New("this ring has no key: set one on all members, and restart them")

// CheckRotation rejects new keys that would prevent communication with another member: all
// members must have the new primary key, and this one must keep their primary keys.
func CheckRotation(old, keys [][]byte, others []meta.Meta) error {
	if len(old) == 0 {
		return errNoKeys
	}
	if err := Check(keys); err != nil {
		return err
	}
	if !hasKey(old, keys[0]) {
		return errors.New("the first key is new: add it as a further key on all members first")
	}
	prints := Fingerprints(keys)
	for _, m := range others {
		if !slices.Contains(m.Keys, prints[0]) {
			return fmt.Errorf("member %s does not have the first key yet", m.Name)
		}
		if len(m.Keys) > 0 && !slices.Contains(prints, m.Keys[0]) {
			return fmt.Errorf("member %s still has a removed key as its first key", m.Name)
		}
	}
	return nil
}

// fingerprint identifies a key without revealing it.
func fingerprint(key []byte) uint32 {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("cronring key print"))
	return binary.BigEndian.Uint32(h.Sum(nil))
}
