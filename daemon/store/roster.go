package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// rosterPart is the maximum number of jobs in one row of the roster.
const rosterPart = 4096

// A row of the roster is its form and its jobs, each with key, spec and since. A row
// of the form before has no byte for the form, and keys of eight bytes.
const (
	rosterForm      = 2
	knownSize       = len(job.Key{}) + 16
	formerKnownSize = 24
)

// partBits is the number of bits of a row's number that count the rows of one crontab. The others
// identify the crontab.
const partBits = 12

// putRoster writes the rows of the crontabs of r, as far as they changed.
func (w *writer) putRoster(r *effect.Roster) error {
	if r.Whole {
		if err := w.keepRoster(r); err != nil {
			return err
		}
	}
	blob := make([]byte, 0, 1+rosterPart*knownSize)
	for _, t := range r.Crontabs {
		part, end := partsOf(t.Name)
		for known := t.Known; len(known) > 0 && part < end; part++ {
			n := min(len(known), rosterPart)
			blob = append(blob[:0], rosterForm)
			for _, k := range known[:n] {
				blob = append(blob, k.Key[:]...)
				blob = binary.LittleEndian.AppendUint64(blob, k.Spec)
				blob = binary.LittleEndian.AppendUint64(blob, uint64(k.Since.UnixNano()))
			}
			if _, err := w.Exec(w.stmts.putRoster, part, blob); err != nil {
				return fmt.Errorf("roster: %w", err)
			}
			known = known[n:]
		}
		if _, err := w.Exec(w.stmts.cutRoster, part, end); err != nil {
			return fmt.Errorf("roster: %w", err)
		}
	}
	return nil
}

// keepRoster deletes the rows of all crontabs that are not in r.
func (w *writer) keepRoster(r *effect.Roster) error {
	gaps := make([]int64, 0, 2*len(r.Crontabs)+2)
	gaps = append(gaps, 0)
	for _, t := range r.Crontabs {
		part, end := partsOf(t.Name)
		gaps = append(gaps, part, end)
	}
	slices.Sort(gaps)
	gaps = append(gaps, math.MaxInt64)
	for i := 0; i < len(gaps); i += 2 {
		if gaps[i] < gaps[i+1] {
			if _, err := w.Exec(w.stmts.cutRoster, gaps[i], gaps[i+1]); err != nil {
				return fmt.Errorf("roster: %w", err)
			}
		}
	}
	return nil
}

// partsOf returns the numbers of the rows of a crontab: from part to end,
// exclusively. They depend on its name alone, so that a change of one crontab
// leaves the rows of the others as they are.
func partsOf(name string) (part, end int64) {
	digest := sha256.Sum256([]byte(name))
	part = int64(binary.LittleEndian.Uint64(digest[:]) >> 2 &^ (1<<partBits - 1))
	return part, part + 1<<partBits
}

// appendKnown reads a row. The form before is recognized by its length: that of a
// row of today is odd.
func appendKnown(known []effect.Known, blob []byte) ([]effect.Known, error) {
	size, keyOf := knownSize, func(b []byte) job.Key { return job.Key(b) }
	switch {
	case len(blob)%formerKnownSize == 0:
		size, keyOf = formerKnownSize, func(b []byte) job.Key { return catalog.FormerKey(binary.LittleEndian.Uint64(b)) }
	case len(blob)%knownSize == 1 && blob[0] == rosterForm:
		blob = blob[1:]
	default:
		return nil, fmt.Errorf("roster: invalid row of %d bytes", len(blob))
	}
	for ; len(blob) > 0; blob = blob[size:] {
		rest := blob[size-16 : size]
		known = append(known, effect.Known{
			Key:   keyOf(blob[:size-16]),
			Spec:  binary.LittleEndian.Uint64(rest),
			Since: database.FromNanos(int64(binary.LittleEndian.Uint64(rest[8:]))),
		})
	}
	return known, nil
}
