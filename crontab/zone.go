package crontab

import (
	"math"
	"time"
)

// Zone is a time zone as an immutable table of its offset changes, from 1970
// to LastYear. Before 1970 the offset of 1970-01-01 holds. Only offsets at UTC instants
// count, never the DST flag: Almaty 2024 went back without one.
type Zone struct {
	location *time.Location
	spans    []span   // the last is a sentinel: only its start counts
	hints    []uint16 // hints[i] is the span in which hint interval i begins
}

// span is a stretch of time with one offset.
type span struct {
	start  int64 // Unix seconds
	offset int32 // seconds east of UTC
	// resume tells fixed-time entries where to go on: at the wall clock of
	// start plus so many seconds. It is negative after a gap that is made up,
	// positive where a repeat is silent.
	resume int32
	// made and silent do the same for dst=second: made is what its resume is,
	// zero or negative, and for so many seconds the end of the span is silent,
	// as the clock will show them again.
	made, silent int32
}

// Change is one change of a zone's offset from UTC.
type Change struct {
	At                        time.Time // in the zone
	Before, After             int       // seconds east of UTC
	BeforeAbbrev, AfterAbbrev string
}

const (
	secondsPerDay = 24 * 60 * 60

	// The table ends a year after the last occurrence, because the end of a
	// span depends on the change that follows it.
	tableEnd = lastSecond + 366*secondsPerDay

	// Debian's cron makes up for a clock that was put forward by at most, and
	// waits for one that was put back by less than, three hours.
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

// Location is the location that the table was built from.
func (z *Zone) Location() *time.Location { return z.location }

// String is the zone's name.
func (z *Zone) String() string { return z.location.String() }

// Changes lists the changes of offset in [from, to), from 1970 to LastYear. A
// change of the abbreviation or the DST flag alone is not listed.
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
		c.BeforeAbbrev, c.Before = at.Add(-time.Second).Zone()
		c.AfterAbbrev, c.After = at.Zone()
		changes = append(changes, c)
	}
	return changes
}

// find returns the span that holds at u.
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

// markResumes sets each span's resume. Fixed-time entries follow the highest
// wall clock shown so far: they make up for what a gap jumped over and are
// silent until a repeat has passed it, unless the change is too large.
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

// markRepeats sets each span's made and silent. Where markResumes follows the
// highest wall clock so far, this follows the lowest one yet to come.
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

// markHints sets hints up to the last change; nothing follows it but the span
// that it begins.
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
			// golang/go#81583: on 31 December of leap years the end that a
			// rule gives lies before the instant.
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

// firstOther finds the first second in (lo, hi] with another offset than that
// at lo, given that hi has another.
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
