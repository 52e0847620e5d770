package timetable

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// MaxDuration is the longest duration of an option: 100 years. The sum of two
// durations, or of a duration and an instant up to LastYear, fits into 64 bits
// of nanoseconds.
const MaxDuration = 36525 * 24 * time.Hour

// LastYear is the last year with occurrences. 64 bits of
// nanoseconds since 1970 end later, in 2262.
const LastYear = 2199

// MaxMissed is the highest N of catchup=all:N, the number of runs of one job
// that may start together after downtime.
const MaxMissed = 1000

const (
	firstSecond = -62135596800 // 0001-01-01, the zero Time
	lastSecond  = 7258118399   // 2199-12-31T23:59:59Z, the end of LastYear
)

// Range limits t to the years 1970 to LastYear.
func Range(t time.Time) time.Time {
	if InRange(t) {
		return t
	}
	return time.Unix(min(max(t.Unix(), 0), lastSecond), 0).In(t.Location())
}

// InRange reports whether t is in the years 1970 to LastYear, in UTC. Options
// accept no other instants.
func InRange(t time.Time) bool { return t.Unix() >= 0 && t.Unix() <= lastSecond }

// occurrence returns t, or the zero Time if t is after LastYear.
func occurrence(t time.Time) time.Time {
	if t.Unix() > lastSecond {
		return time.Time{}
	}
	return t
}

func CheckRange(t time.Time, text string) error {
	if !InRange(t) {
		return fmt.Errorf("%s is not between 1970 and %d", diagnostic.Quote(text), LastYear)
	}
	return nil
}

// Spacing returns the shortest time between two occurrences of s, without the
// effect of clock changes. It is 0 if s occurs at most once, or if the type of s
// is not from this package.
func Spacing(s cron.Schedule) time.Duration {
	switch s := s.(type) {
	case *Schedule:
		return s.spacing()
	case *every:
		return s.period
	case *seconds:
		within := time.Duration(closest(s.mask)) * time.Second
		across := Spacing(s.inner)
		if across > 0 {
			across -= time.Duration(width(s.mask)) * time.Second
		}
		return shorter(within, across)
	case interface{ Unwrap() cron.Schedule }:
		return Spacing(s.Unwrap())
	}
	return 0
}

// spacing compares the times of one day, and the two days that are closest to
// each other.
func (s *Schedule) spacing() time.Duration {
	if s.days == daysNone {
		return 0
	}
	inHour := time.Duration(closest(s.minute)) * time.Minute
	inDay := time.Duration(closest(uint64(s.hour))) * time.Hour
	if inDay > 0 {
		inDay -= time.Duration(width(s.minute)) * time.Minute
	}
	least := shorter(inHour, inDay)
	open := time.Duration(width(uint64(s.hour)))*time.Hour + time.Duration(width(s.minute))*time.Minute
	if least > 0 && least <= 24*time.Hour-open {
		return least // no two days are that close
	}
	overnight := time.Duration(s.daysApart()) * 24 * time.Hour
	if overnight > 0 {
		overnight -= open
	}
	return shorter(least, overnight)
}

// daysApart returns the shortest distance between two days on which s occurs, or
// 0 if there is only one in 28 years, after which weekdays and leap years repeat.
// Of a filter only the rules for days count, because the others repeat later or
// never: the result may be too short, but not too long.
func (s *Schedule) daysApart() int64 {
	if s.filter != nil {
		if s.filter.Shift != ShiftNone {
			return 1
		}
		repeating := *s
		repeating.filter = &Days{Rule: s.filter.Rule}
		s = &repeating
	}
	const firstDay = (946684800 + wallEpoch) / secondsPerDay // 2000-01-01
	least := int64(0)
	day := s.nextWall(firstDay*minutesPerDay) / minutesPerDay
	for day < firstDay+28*366 && least != 1 {
		next := s.nextWall((day+1)*minutesPerDay) / minutesPerDay
		if distance := next - day; least == 0 || distance < least {
			least = distance
		}
		day = next
	}
	return least
}

// shorter returns the shorter of two durations, where 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// closest returns the shortest distance between two bits of mask, or 0.
func closest(mask uint64) int {
	for distance := 1; distance < 64; distance++ {
		if mask&(mask>>distance) != 0 {
			return distance
		}
	}
	return 0
}

// width returns the distance between the lowest and the highest bit of mask.
func width(mask uint64) int {
	if mask == 0 {
		return 0
	}
	return bits.Len64(mask) - 1 - bits.TrailingZeros64(mask)
}
