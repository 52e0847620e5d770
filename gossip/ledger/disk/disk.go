// Package disk owns the log of a voter on disk: a voter that lost a part of it must not vote again
// under the same name.
package disk

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/types"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// IncarnationBytes is the length of the name of a log, which is also the first message on a
// connection to a voter.
const IncarnationBytes = 16

var crcTable = crc32.MakeTable(crc32.Castagnoli)

const (
	segmentBytes = 4 << 20 // of each file of the log
	mostMeta     = 1 << 20
	metaName     = "meta"
)

// Disk stores the log and the votes of this voter. Raft would end the process if it could not
// write a vote or read its log, although the host's jobs do not need raft. Such an error ends
// only raft's goroutine, and fail stops the rest of raft.
type Disk struct {
	*wal.WAL
	Incarnation string
	fail        func(error)

	mu    sync.Mutex
	peers map[string]Progress // by member
}

// Keys of values beside the votes.
const (
	incarnationKey = "cronring incarnation" // the name of the log
	markKey        = "cronring mark"        // the index of an entry in the log, see Mark
	peersKey       = "cronring peers"       // the Progress of other voters
	rejectedKey    = "cronring rejected"    // why the log must not be used again, see Reject
)

// Open opens the log in a directory, or creates one.
func Open(dir string, log hclog.Logger, fail func(error)) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	w, err := wal.Open(dir, wal.WithLogger(log), wal.WithSegmentSize(segmentBytes), wal.WithMetaStore(&meta{}))
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	d := &Disk{WAL: w, fail: fail}
	err = d.name()
	if err == nil {
		err = d.checkMark()
	}
	if err == nil {
		err = d.checkRejected()
	}
	if err == nil {
		err = d.readPeers()
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return d, nil
}

// name gives a new log a unique name. A voter with a new log is another voter, because it lacks
// the votes and entries on which the others rely.
func (d *Disk) name() error {
	had, err := d.WAL.Get([]byte(incarnationKey))
	if err != nil {
		return err
	}
	if len(had) > 0 {
		d.Incarnation = string(had)
		return nil
	}
	if last, err := d.WAL.LastIndex(); err != nil || last > 0 {
		return errors.Join(err, errors.New("the log has entries but no name"))
	}
	var random [IncarnationBytes / 2]byte
	rand.Read(random[:])
	d.Incarnation = hex.EncodeToString(random[:])
	return d.WAL.Set([]byte(incarnationKey), []byte(d.Incarnation))
}

// Mark stores the index of the last entry. A damaged end of the log looks like an entry that
// was being written when the host stopped, and is removed. The mark shows that entries are
// missing on which the other voters rely. Mark also stores the progress of these.
func (d *Disk) Mark() {
	last, err := d.WAL.LastIndex()
	if err == nil {
		err = d.SetMark(last)
	}
	if err == nil {
		err = d.writePeers()
	}
	if err != nil {
		d.fail(fmt.Errorf("write ledger: %w", err))
	}
}

func (d *Disk) SetMark(last uint64) error {
	if had, err := d.WAL.GetUint64([]byte(markKey)); err != nil || had == last {
		return err
	}
	return d.WAL.SetUint64([]byte(markKey), last)
}

func (d *Disk) checkMark() error {
	mark, err := d.WAL.GetUint64([]byte(markKey))
	if err != nil {
		return err
	}
	last, err := d.WAL.LastIndex()
	if err == nil && last < mark {
		err = fmt.Errorf("the log ends with entry %d, but had entry %d", last, mark)
	}
	return err
}

// Reject prevents the log from being opened again, and returns the reason as an error.
func (d *Disk) Reject(why string) error {
	if err := d.WAL.Set([]byte(rejectedKey), []byte(why)); err != nil {
		return fmt.Errorf("%s (cannot record that: %w)", why, err)
	}
	return errors.New(why)
}

func (d *Disk) checkRejected() error {
	why, err := d.WAL.Get([]byte(rejectedKey))
	if err == nil && len(why) > 0 {
		err = errors.New(string(why))
	}
	return err
}

// exitRaft ends the calling goroutine of raft, which would end the process after an error.
func (d *Disk) exitRaft(err error) {
	d.fail(err)
	runtime.Goexit()
}

// GetLog implements raft.LogStore. Only an entry outside the range of the log may be missing.
func (d *Disk) GetLog(index uint64, l *raft.Log) error {
	err := d.WAL.GetLog(index, l)
	if err == nil || errors.Is(err, wal.ErrClosed) {
		return err
	}
	if errors.Is(err, raft.ErrLogNotFound) {
		first, _ := d.WAL.FirstIndex()
		last, _ := d.WAL.LastIndex()
		if index < first || index > last {
			return raft.ErrLogNotFound
		}
	}
	d.exitRaft(fmt.Errorf("read entry %d of the ledger: %w", index, err))
	return err
}

// StoreLog implements raft.LogStore.
func (d *Disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. After an error raft continues without the entries.
func (d *Disk) StoreLogs(logs []*raft.Log) error {
	err := d.WAL.StoreLogs(logs)
	if err != nil {
		d.fail(fmt.Errorf("write ledger: %w", err))
	}
	return err
}

// DeleteRange implements raft.LogStore.
func (d *Disk) DeleteRange(from, to uint64) error {
	first, _ := d.WAL.FirstIndex()
	last, err := d.WAL.LastIndex()
	if err == nil && to >= last { // it removes the end of the log, or all
		mark := from - 1
		if from <= first {
			mark = 0
		}
		err = d.SetMark(mark)
	}
	if err == nil {
		err = d.WAL.DeleteRange(from, to)
	}
	if err != nil {
		d.fail(fmt.Errorf("cut ledger: %w", err))
	}
	return err
}

// Set implements raft.StableStore, for votes.
func (d *Disk) Set(key, value []byte) error {
	err := d.WAL.Set(key, value)
	if err != nil {
		d.exitRaft(fmt.Errorf("write vote: %w", err))
	}
	return nil
}

// SetUint64 implements raft.StableStore, for terms.
func (d *Disk) SetUint64(key []byte, value uint64) error {
	err := d.WAL.SetUint64(key, value)
	if err != nil {
		d.exitRaft(fmt.Errorf("write vote: %w", err))
	}
	return nil
}

// meta stores the log's list of segments, and the votes, in one small file, which is replaced
// as a whole. The default of raft-wal is a memory-mapped database, which ends the process if it
// is damaged.
type meta struct {
	mu  sync.Mutex
	dir string
	now metaState
}

type metaState struct {
	State  types.PersistentState
	Stable map[string][]byte
}

// metaFile is the file: its content and a checksum.
type metaFile struct {
	Sum     uint32
	Content json.RawMessage
}

// Load reads the file, or creates it.
func (m *meta) Load(dir string) (types.PersistentState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dir = dir
	b, err := os.ReadFile(filepath.Join(dir, metaName))
	if errors.Is(err, os.ErrNotExist) {
		return m.begin()
	}
	if err != nil {
		return types.PersistentState{}, fmt.Errorf("read list of segments: %w", err)
	}
	m.now, err = decodeMeta(b)
	return m.now.State, err
}

// begin creates the file in a directory without a log. Segments without their list are a
// damaged log.
func (m *meta) begin() (types.PersistentState, error) {
	if len(atomicfile.Match(m.dir, "*.wal")) > 0 {
		return types.PersistentState{}, errors.New("the list of segments is missing")
	}
	m.now = metaState{Stable: map[string][]byte{}}
	return m.now.State, m.write(m.now)
}

func decodeMeta(b []byte) (metaState, error) {
	var f metaFile
	if len(b) > mostMeta {
		return metaState{}, fmt.Errorf("read list of segments: %d bytes", len(b))
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return metaState{}, fmt.Errorf("read list of segments: %w", err)
	}
	if crc32.Checksum(f.Content, crcTable) != f.Sum {
		return metaState{}, errors.New("read list of segments: wrong checksum")
	}
	s := metaState{}
	if err := json.Unmarshal(f.Content, &s); err != nil {
		return metaState{}, fmt.Errorf("read list of segments: %w", err)
	}
	if s.Stable == nil {
		s.Stable = map[string][]byte{}
	}
	return s, nil
}

// write replaces the file atomically.
func (m *meta) write(s metaState) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	b, err := json.Marshal(metaFile{crc32.Checksum(content, crcTable), content})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(m.dir, metaName), b)
}

// CommitState implements types.MetaStore.
func (m *meta) CommitState(s types.PersistentState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.replace(metaState{s, m.now.Stable})
}

// replace stores a state in the file, and in memory if that succeeded.
func (m *meta) replace(s metaState) error {
	err := m.write(s)
	if err == nil {
		m.now = s
	}
	return err
}

// GetStable implements types.MetaStore.
func (m *meta) GetStable(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now.Stable[string(key)], nil
}

// SetStable implements types.MetaStore.
func (m *meta) SetStable(key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := metaState{m.now.State, map[string][]byte{}}
	for k, v := range m.now.Stable {
		next.Stable[k] = v
	}
	next.Stable[string(key)] = append([]byte{}, value...)
	return m.replace(next)
}

// Close implements types.MetaStore. No file is open between writes.
func (m *meta) Close() error { return nil }
