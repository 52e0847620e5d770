package store

import (
	"encoding/binary"
	"fmt"

	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// rosterPart is how many jobs one row of the roster holds.
const rosterPart = 4096

// A row of the roster is its form and its jobs, each with key, spec and since. A row
// of the form before has no byte for the form, and keys of eight bytes.
const (
	rosterForm      = 2
	knownSize       = len(job.Key{}) + 16
	formerKnownSize = 24
)

// putRoster writes the rows that changed: those of the jobs of an edited table,
// of jobs that came due since, and all behind where jobs came or went.
func (w *writer) putRoster(known []engine.Known) error {
	blob := make([]byte, 0, 1+rosterPart*knownSize)
	part := int64(0)
	for ; len(known) > 0; part++ {
		n := min(len(known), rosterPart)
		blob = append(blob[:0], rosterForm)
		for _, k := range known[:n] {
			blob = append(blob, k.Key[:]...)
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

// appendKnown reads a row. The form before is recognized by its length: that of a
// row of today is odd.
func appendKnown(known []engine.Known, blob []byte) ([]engine.Known, error) {
	size, keyOf := knownSize, func(b []byte) job.Key { return job.Key(b) }
	switch {
	case len(blob)%formerKnownSize == 0:
		size, keyOf = formerKnownSize, func(b []byte) job.Key { return engine.FormerKey(binary.LittleEndian.Uint64(b)) }
	case len(blob)%knownSize == 1 && blob[0] == rosterForm:
		blob = blob[1:]
	default:
		return nil, fmt.Errorf("roster: invalid row of %d bytes", len(blob))
	}
	for ; len(blob) > 0; blob = blob[size:] {
		rest := blob[size-16 : size]
		known = append(known, engine.Known{
			Key:   keyOf(blob[:size-16]),
			Spec:  binary.LittleEndian.Uint64(rest),
			Since: fromNanos(int64(binary.LittleEndian.Uint64(rest[8:]))),
		})
	}
	return known, nil
}
