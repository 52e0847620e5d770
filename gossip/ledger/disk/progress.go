package disk

import (
	"encoding/binary"
	"encoding/json"

	"github.com/cronring/cronring/gossip/wire"
)

// Progress is a voter's position: its term and newest entry. It never decreases while the voter keeps
// its log, because raft replaces only entries of earlier terms. If it does, the log is an older copy,
// and the voter has forgotten votes or entries on which the others rely.
//
// Therefore voters remember each other's progress, and exchange what they remember before they connect.
type Progress struct {
	Incarnation string // the name of the log
	Term        uint64
	Index       uint64 // of the newest entry, if it is of this term; otherwise 0
}

// Before reports whether p is an earlier position than q.
func (p Progress) Before(q Progress) bool {
	return p.Term < q.Term || p.Term == q.Term && p.Index < q.Index
}

// AppendTo appends the progress to a message.
func (p Progress) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(wire.AppendText(b, p.Incarnation), p.Term)
	return binary.BigEndian.AppendUint64(b, p.Index)
}

// ReadProgress reads what AppendTo wrote. Older versions do not write it.
func ReadProgress(r *wire.Reader) Progress {
	if !r.More() {
		return Progress{}
	}
	return Progress{r.Text(IncarnationBytes), r.Uint64(), r.Uint64()}
}

// Remember stores the progress of another voter. An older one of the same log is ignored. Mark
// writes it to the disk.
func (d *Disk) Remember(member string, p Progress) {
	if p.Incarnation == "" { // from an older version
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if had := d.peers[member]; had.Incarnation != p.Incarnation || had.Before(p) {
		d.peers[member] = p
	}
}

// Remembered returns the greatest known progress of another voter.
func (d *Disk) Remembered(member string) Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peers[member]
}

func (d *Disk) readPeers() error {
	d.peers = map[string]Progress{}
	b, err := d.WAL.Get([]byte(peersKey))
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, &d.peers)
	}
	return err
}

func (d *Disk) writePeers() error {
	d.mu.Lock()
	b, err := json.Marshal(d.peers)
	d.mu.Unlock()
	if err != nil {
		return err
	}
	if had, err := d.WAL.Get([]byte(peersKey)); err != nil || string(had) == string(b) {
		return err
	}
	return d.WAL.Set([]byte(peersKey), b)
}
