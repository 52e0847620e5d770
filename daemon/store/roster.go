package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cronring/cronring/daemon/engine"
)

// rosterPart is how many jobs one row of the roster holds.
const rosterPart = 4096

// knownSize is the length of one job in a roster's row: key, spec, since.
const knownSize = 24

// putRoster writes the rows that changed: those of the jobs of an edited table,
// of jobs that came due since, and all behind where jobs came or went.
func (w *writer) putRoster(known []engine.Known) error {
	blob := make([]byte, 0, rosterPart*knownSize)
	part := int64(0)
	for ; len(known) > 0; part++ {
		n := min(len(known), rosterPart)
		blob = blob[:0]
		for _, k := range known[:n] {
			blob = binary.LittleEndian.AppendUint64(blob, k.Key)
			blob = binary.LittleEndian.AppendUint64(blob, k.Spec)
			blob = binary.LittleEndian.AppendUint64(blob, uint64(k.Since.UnixNano()))
		}
		if _, err := w.exec(w.stmts.putRoster, part, blob); err != nil {
			return fmt.Errorf("roster: %w", err)
		}
		known = known[n:]
	}
	_, err := w.exec(w.stmts.cutRoster, part)
	return err
}

func appendKnown(known []engine.Known, blob []byte) ([]engine.Known, error) {
	if len(blob)%knownSize != 0 {
		return nil, fmt.Errorf("roster: a row of %d bytes", len(blob))
	}
	for ; len(blob) > 0; blob = blob[knownSize:] {
		known = append(known, engine.Known{
			Key:   binary.LittleEndian.Uint64(blob),
			Spec:  binary.LittleEndian.Uint64(blob[8:]),
			Since: fromNanos(int64(binary.LittleEndian.Uint64(blob[16:]))),
		})
	}
	return known, nil
}
