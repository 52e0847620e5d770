package timetable

import (
	"math"
	"time"
)

// Zone is a time zone as an immutable table of its offset changes, from 1970 to
// LastYear. The offset of 1970-01-01 applies to earlier times. Only the offset
// matters, not the DST flag: Almaty changed its offset in 2024 without one.
type Zone struct {
	location *time.Location
	spans    []span   // the last is a sentinel: only its start is used
	hints    []uint16 // hints[i] is the span at the begin of hint interval i
}

// span is a period of time with one offset.
type span struct {
	start  int64 // Unix seconds
	offset int32 // seconds east of UTC
	// resume is the local time at which fixed-time entries continue, in seconds
	// after the local time of start. It is negative after a gap that is caught
	// up, and positive in a repeated hour when they do not run again.
	resume int32
	// made and silent do the same for dst=second: made is its resume, zero or
	// negative; silent is the number of seconds at the end of the span in which
	// entries do not run, because the clock will show these times again.
	made, silent int32
}

// Change is one change of a zone's offset from UTC.
type Change struct {
	At            time.Time // in the zone
	Before, After int       // seconds east of UTC
}

const (
	secondsPerDay = 24 * 60 * 60

	// The table ends a year after the last occurrence, because the end of a
	// span depends on the change that follows it.
	tableEnd = lastSecond + 366*secondsPerDay

	// If the clock is set forward by at most three hours, Debian's cron runs what
	// was skipped. If it is set back by less than that, cron waits.
	threeHours = 3 * 60 * 60

	// Hint intervals of 2^23 seconds are 97 days, so most lookups need at most
	// one step beyond the hint.
	hintShift = 23
)

// NewZone builds the table of loc; nil means UTC.
func NewZone(loc *time.Location) *Zone {
	if loc == nil {
		loc = time.UTC
	}
	z := &Zone{location: loc}
	z.collect()
	z.markResumes()
	z.markRepeats()
	z.markHints()
	return z
}

// Location returns the location that the table was built from.
func (z *Zone) Location() *time.Location { return z.location }

// String returns the zone's name.
func (z *Zone) String() string { return z.location.String() }

// Changes returns the changes of the offset in [from, to), from 1970 to LastYear.
// It omits changes of only the abbreviation or the DST flag.
func (z *Zone) Changes(from, to time.Time) []Change {
	var changes []Change
	for i := z.find(from.Unix()-1) + 1; i < len(z.spans)-1; i++ {
		at := time.Unix(z.spans[i].start, 0).In(z.location)
		if !at.Before(to) || at.Unix() > lastSecond {
			break
		}
		if at.Before(from) {
			continue
		}
		c := Change{At: at}
		_, c.Before = at.Add(-time.Second).Zone()
		_, c.After = at.Zone()
		changes = append(changes, c)
	}
	return changes
}

// find returns the index of the span that contains u.
func (z *Zone) find(u int64) int {
	if u < 0 || len(z.hints) == 0 {
		return 0
	}
	i := int(z.hints[min(u>>hintShift, int64(len(z.hints)-1))])
	for z.spans[i+1].start <= u {
		i++
	}
	return i
}

// collect fills spans from the location.
func (z *Zone) collect() {
	z.spans = []span{{start: math.MinInt64 / 2, offset: offsetAt(z.location, 0)}}
	for u := int64(0); ; {
		at, ok := nextChange(z.location, u, tableEnd)
		if !ok {
			break
		}
		z.spans = append(z.spans, span{start: at, offset: offsetAt(z.location, at)})
		u = at
	}
	z.spans = append(z.spans, span{start: math.MaxInt64})
}

// markResumes sets each span's resume. Fixed-time entries follow the latest local
// time so far: after a gap they run what was skipped, and in a repeated hour they
// wait until the clock passes that time. Larger changes have no such effect.
func (z *Zone) markResumes() {
	high := int64(math.MinInt64)
	for i := 1; i < len(z.spans)-1; i++ {
		s := &z.spans[i]
		before := s.start + int64(z.spans[i-1].offset)
		after := s.start + int64(s.offset)
		high = max(high, before)
		if after-before > threeHours || before-after >= threeHours {
			high = after
		}
		s.resume = int32(high - after)
		high = max(high, after)
	}
}

// markRepeats sets each span's made and silent. markResumes uses the latest local
// time so far; markRepeats uses the earliest local time that is still to come.
func (z *Zone) markRepeats() {
	last := len(z.spans) - 2
	low := int64(math.MaxInt64)
	for i := last; i >= 0; i-- {
		s := &z.spans[i]
		if i < last { // else nothing follows
			next := z.spans[i+1]
			s.silent = int32(max(0, next.start+int64(s.offset)-min(low, next.start+int64(next.offset))))
		}
		if i > 0 {
			s.made = min(0, z.spans[i-1].offset-s.offset)
			low = min(low, s.start+int64(s.offset))
		}
	}
}

// markHints sets hints up to the last change.
func (z *Zone) markHints() {
	last := len(z.spans) - 2
	i := 0
	for u := int64(0); i < last; u += 1 << hintShift {
		for i < last && z.spans[i+1].start <= u {
			i++
		}
		z.hints = append(z.hints, uint16(i))
	}
}

// nextChange finds the first change of offset in (u, until).
func nextChange(loc *time.Location, u, until int64) (at int64, ok bool) {
	offset := offsetAt(loc, u)
	for u < until {
		_, bound := time.Unix(u, 0).In(loc).ZoneBounds()
		if bound.IsZero() {
			return 0, false
		}
		end := bound.Unix()
		if end <= u {
			// golang/go#81583: on 31 December of leap years ZoneBounds can
			// return an end before the given instant.
			end = u + secondsPerDay
		}
		if offsetAt(loc, end) != offset {
			at = firstOther(loc, offset, u, end)
			return at, at < until
		}
		u = end
	}
	return 0, false
}

// firstOther returns the first second in (lo, hi] whose offset differs from that
// at lo, given that the offset at hi differs.
func firstOther(loc *time.Location, offset int32, lo, hi int64) int64 {
	if offsetAt(loc, hi-1) == offset {
		return hi
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; offsetAt(loc, mid) == offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func offsetAt(loc *time.Location, u int64) int32 {
	_, offset := time.Unix(u, 0).In(loc).Zone()
	return int32(offset)
}
