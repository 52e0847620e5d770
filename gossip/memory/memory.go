// Package memory owns the files in which a host keeps its ID and the last known members of its
// ring.
package memory

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/gossip/meta"
	"github.com/cronring/cronring/gossip/wire"
)

// Files in the state directory.
const (
	IDFile    = "ring-id"
	peersFile = "ring-peers.json"
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

// Recall reads what Remember wrote. If it returns an error, the host can still join through the
// seeds.
func Recall(dir string) (Memory, error) {
	b, err := readFile(filepath.Join(dir, peersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Memory{}, nil
	}
	var m Memory
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return Memory{}, fmt.Errorf("read the last known members: %w", err)
	}
	usable := m.Peers[:0]
	for _, p := range m.Peers[:min(len(m.Peers), meta.MaxMembers)] {
		if wire.CheckID(p.ID) == nil && p.Addr.IsValid() && meta.Printable(p.Name) {
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

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return atomicfile.Read(f)
}
