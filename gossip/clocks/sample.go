// Package clocks owns the comparison of this host's clock with the clocks of the other members: the
// samples of their clocks, and whether most of them agree.
package clocks

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/wire"
)

// maxSamples is the number of samples of a member's clock that its offset depends on.
const maxSamples = 5

// Sample is one measurement of another member's clock, with other data from the same answer.
type Sample struct {
	Offset, Trip time.Duration
	Load         int
	ViewSum      uint64 // digest of the members that it sees
	Sure         bool   // the member reports that most members agree with its clock
}

// Encode encodes the answer of a member to a probe: its clock, whether most members agree with
// it, the number of runs, and a digest of the members that it sees.
func Encode(now time.Time, sure bool, load uint32, viewSum uint64) []byte {
	b := wire.AppendBool(wire.AppendTime(make([]byte, 0, 21), now), sure)
	b = binary.BigEndian.AppendUint32(b, load)
	return binary.BigEndian.AppendUint64(b, viewSum)
}

// Decode decodes what Encode wrote, after a round trip that took trip. It ignores additional
// bytes, which later versions may write.
func Decode(b []byte, trip time.Duration, now time.Time) (s Sample, ok bool) {
	r := wire.NewReader(b)
	theirs := r.Time()
	s = Sample{Offset: theirs.Add(trip / 2).Sub(now), Trip: trip, Sure: r.Bool(), Load: int(min(r.Uint32(), math.MaxInt32)), ViewSum: r.Uint64()}
	return s, r.Err() == nil && !theirs.IsZero() && trip >= 0
}

// Samples are the last samples of one member's clock.
type Samples struct {
	list  []Sample
	ahead time.Duration // how far its clock is ahead of this one's: the median of the samples
}

// Add adds a sample, and updates the offset.
func (s *Samples) Add(sample Sample) {
	s.list = append(s.list, sample)
	if len(s.list) > maxSamples {
		s.list = s.list[1:]
	}
	var offsets [maxSamples]time.Duration
	for i, x := range s.list {
		offsets[i] = x.Offset
	}
	slices.Sort(offsets[:len(s.list)])
	s.ahead = offsets[len(s.list)/2]
}

// Offset returns how far the member's clock is ahead, and whether that is known.
func (s *Samples) Offset() (time.Duration, bool) { return s.ahead, len(s.list) > 0 }

// Last returns the last sample, or the zero value.
func (s *Samples) Last() Sample {
	if len(s.list) == 0 {
		return Sample{}
	}
	return s.list[len(s.list)-1]
}

// Slowest returns the longest round trip.
func (s *Samples) Slowest() (slowest time.Duration) {
	for _, x := range s.list {
		slowest = max(slowest, x.Trip)
	}
	return slowest
}
