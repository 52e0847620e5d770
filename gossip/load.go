package gossip

import (
	"encoding/binary"

	"github.com/hashicorp/memberlist"

	"github.com/cronring/cronring/gossip/link"
)

// A member's load is how many runs go on there. It is told to each member by a
// packet when it changes; where that is lost, the answer to the next probe has it.
// It decides nothing alone: who takes an occurrence by it asks the others.

// kindLoad begins a packet with a load, in the place where others say that they are
// of marks.
const kindLoad = 0x51

func isLoad(b []byte) bool { return len(b) > 0 && b[0] == kindLoad }

// encodeLoad writes who has so many runs.
func encodeLoad(id string, runs uint32) []byte {
	return binary.BigEndian.AppendUint32(appendText([]byte{kindLoad}, id), runs)
}

// decodeLoad reads what encodeLoad wrote, from anybody.
func decodeLoad(b []byte) (id string, runs int, err error) {
	r := reader{rest: b}
	kind := r.uint8()
	id, runs = r.text(maxID), int(r.uint32())
	if err := r.end(); err != nil || kind != kindLoad || link.CheckID(id) != nil {
		return "", 0, errWire
	}
	return id, runs, nil
}

// setLoad takes in this host's load, and tells it.
func (r *Ring) setLoad(runs uint32) {
	if r.load.Swap(runs) == runs {
		return
	}
	r.busier = true
	if r.list == nil {
		return
	}
	b := encodeLoad(r.o.ID, runs)
	for _, m := range r.alive() {
		// An error is as good as a lost packet.
		_ = r.list.SendToAddress(memberlist.Address{Addr: hostPort(m.addr), Name: m.id}, b)
	}
}

// hearLoad takes in a packet with a load.
func (r *Ring) hearLoad(b []byte) {
	id, runs, err := decodeLoad(b)
	if err != nil {
		return
	}
	if m := r.members[id]; m != nil {
		r.weigh(m, runs)
	}
}

// weigh notes how many runs a member has.
func (r *Ring) weigh(m *member, runs int) {
	if runs != m.load {
		m.load, r.busier = runs, true
	}
}
