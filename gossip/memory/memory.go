// Package memory owns the files in which a host keeps its ID, the number of its last start, the last
// known members of its ring, and the newest occurrences that they took.
package memory

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/wire"
)

// Files in the state directory.
const (
	IDFile     = "ring-id"
	startFile  = "ring-start"
	peersFile  = "ring-peers.json"
	newestFile = "ring-newest"
)

// Peer is a known member that this host searches for after a restart.
type Peer struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Addr netip.AddrPort `json:"addr"`
	Seen time.Time      `json:"seen"`
	// Rules are its last known rules. If HoldOff is 0, they are not known.
	Rules meta.Rules `json:"rules"`
}

// Memory is the state of a member that survives a restart.
type Memory struct {
	Stamp time.Time `json:"stamp"` // of its own last meta
	Peers []Peer    `json:"peers"`
}

// Identity returns this host's ID in rings. The first call generates the ID and stores it in the
// state directory. The host name is not used, because it may change or not be unique.
func Identity(dir string) (string, error) {
	path := filepath.Join(dir, IDFile)
	b, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var id [8]byte
		rand.Read(id[:])
		b = []byte(hex.EncodeToString(id[:]) + "\n")
		err = atomicfile.Write(path, b)
	}
	if err != nil {
		return "", fmt.Errorf("keep this host's ring ID: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if err := wire.CheckID(id); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return id, nil
}

// NextStart returns a number for this start of the daemon, and stores it. It is the time in seconds since
// 1970, but greater than the number of the last start, also if the clock was set back. With an error the
// number is valid, but a later start may get the same or a smaller number.
func NextStart(dir string, now time.Time) (uint32, error) {
	path, start := filepath.Join(dir, startFile), uint32(max(now.Unix(), 0))
	b, err := readFile(path)
	if last, wrong := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32); err == nil && wrong == nil {
		start = max(start, uint32(last)+1)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, atomicfile.Write(path, fmt.Appendln(nil, start))); err != nil {
		return start, fmt.Errorf("a later start may get the same or a smaller number: %w", err)
	}
	return start, nil
}

// Recall reads what Remember wrote. If it returns an error, the host can still join through the
// seeds.
func Recall(dir string) (Memory, error) {
	b, err := readFile(filepath.Join(dir, peersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Memory{}, nil
	}
	var m Memory
	if err == nil {
		m, err = decode(b)
	}
	if err != nil {
		return Memory{}, fmt.Errorf("read the last known members: %w", err)
	}
	return m, nil
}

// decode leaves out members that cannot be used.
func decode(b []byte) (m Memory, err error) {
	if err := json.Unmarshal(b, &m); err != nil {
		return Memory{}, err
	}
	usable := m.Peers[:0]
	for _, p := range m.Peers[:min(len(m.Peers), meta.MaxMembers)] {
		if wire.CheckID(p.ID) == nil && p.Addr.IsValid() && meta.Printable(p.Name+p.Addr.String()) { // an address can have a zone
			usable = append(usable, p)
		}
	}
	m.Peers = usable
	return m, nil
}

// Remember writes the state of a member to the state directory.
func Remember(dir string, m Memory) error {
	b, err := json.MarshalIndent(m, "", "\t")
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, peersFile), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep the last known members: %w", err)
	}
	return nil
}

// largestMessage bounds the length of a message of RememberNewest.
const largestMessage = 1 << 20

// RecallNewest reads the messages that RememberNewest wrote. With an error, it returns the
// messages before the damaged one.
func RecallNewest(dir string) (messages [][]byte, err error) {
	f, err := os.OpenFile(filepath.Join(dir, newestFile), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		defer f.Close()
		messages, err = readMessages(f)
	}
	if err != nil {
		err = fmt.Errorf("read what the ring ran: %w", err)
	}
	return messages, err
}

func readMessages(from io.Reader) (messages [][]byte, err error) {
	r := wire.NewStream(from)
	for r.More() {
		if m := r.Take(r.Number(largestMessage)); m != nil {
			messages = append(messages, m)
		}
	}
	return messages, r.Err()
}

// RememberNewest writes messages about the newest occurrences that members took, so that they do
// not run again if all members are down, and the member that ran them does not start.
func RememberNewest(dir string, messages [][]byte) error {
	var parts [][]byte
	for _, m := range messages {
		parts = append(parts, binary.AppendUvarint(nil, uint64(len(m))), m)
	}
	if err := atomicfile.Write(filepath.Join(dir, newestFile), parts...); err != nil {
		return fmt.Errorf("keep what the ring ran: %w", err)
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return atomicfile.Read(f)
}
