package crontab

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// MaxDuration is the longest duration of the language: 100 years. The sum of
// two of them, and of one and an instant up to LastYear, fits into 64 bits of
// nanoseconds with room to spare.
const MaxDuration = 36525 * 24 * time.Hour

// LastYear is the last year in which a schedule has occurrences. It ends well
// before 2262, where 64 bits of nanoseconds since 1970 end.
const LastYear = 2199

// MaxMissed is the highest N of catchup=all:N: so many runs of one job may start
// together when a host is back.
const MaxMissed = 1000

const (
	firstSecond = -62135596800 // 0001-01-01, the zero Time
	lastSecond  = 7258118399   // 2199-12-31T23:59:59Z, the end of LastYear
)

// Range is t, or the nearest instant of the language if t lies outside the
// years 1970 to LastYear.
func Range(t time.Time) time.Time {
	if InRange(t) {
		return t
	}
	return time.Unix(min(max(t.Unix(), 0), lastSecond), 0).In(t.Location())
}

// InRange reports whether t lies in the years 1970 to LastYear, in UTC. The
// language has no other instants.
func InRange(t time.Time) bool { return t.Unix() >= 0 && t.Unix() <= lastSecond }

// occurrence is t, or the zero Time if schedules have ended by then.
func occurrence(t time.Time) time.Time {
	if t.Unix() > lastSecond {
		return time.Time{}
	}
	return t
}

func checkRange(t time.Time, text string) error {
	if !InRange(t) {
		return fmt.Errorf("%s is not between 1970 and %d", quote(text), LastYear)
	}
	return nil
}

// spacing is the shortest time between two occurrences of s, apart from what
// changes of a clock do to it. It is 0 if s occurs at most once, or if its
// type is not one of this package.
func spacing(s cron.Schedule) time.Duration {
	switch s := s.(type) {
	case *Schedule:
		return s.spacing()
	case *every:
		return s.period
	case *seconds:
		within := time.Duration(closest(s.mask)) * time.Second
		across := spacing(s.inner)
		if across > 0 {
			across -= time.Duration(width(s.mask)) * time.Second
		}
		return shorter(within, across)
	case interface{ Unwrap() cron.Schedule }:
		return spacing(s.Unwrap())
	}
	return 0
}

// spacing looks at the times of one day, and at the days that are closest to
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

// daysApart is the shortest distance between two days that s names, or 0 if
// there are no two in the 28 years in which weekdays and leap years repeat.
func (s *Schedule) daysApart() int64 {
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

// shorter is the shorter of two durations, of which 0 means that there is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// closest is the shortest distance between two bits of mask, or 0.
func closest(mask uint64) int {
	for distance := 1; distance < 64; distance++ {
		if mask&(mask>>distance) != 0 {
			return distance
		}
	}
	return 0
}

// width is the distance between the lowest and the highest bit of mask.
func width(mask uint64) int {
	if mask == 0 {
		return 0
	}
	return bits.Len64(mask) - 1 - bits.TrailingZeros64(mask)
}
