package crontab

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Schedule is the set of instants that five fields name in one zone. It
// implements robfig/cron's Schedule, is immutable and safe for concurrent use.
//
// A wildcard schedule (its minute or hour begins with *) matches the wall
// clock at each real minute: it names nothing in a gap of the zone and both
// passes of a repeat. Any other is fixed-time: each wall minute that it names
// has one instant, which is its own, or the end of the gap that it lies in, or
// its first pass. Minutes that share an instant are one occurrence. A gap of
// more than three hours is not made up for, and after a repeat of three hours
// or more fixed-time schedules start afresh.
//
// That is what cron does. A schedule of another DST has its rule instead,
// wildcard or not, however large the change.
type Schedule struct {
	fieldSet
	zone   *Zone
	spec   string
	days   dayRule
	dst    DST
	passes Passes
}

// DST says what changes of a zone's offset do to a schedule.
type DST uint8

// The rules for changes.
const (
	DSTCron    DST = iota // as cron does, see Schedule
	DSTLiteral            // each instant at which the clock shows a minute: none in a gap, both of a repeat
	DSTSecond             // one instant for each minute: the end of the gap that it lies in, or the last pass of a repeat
)

var dsts = map[string]DST{"cron": DSTCron, "literal": DSTLiteral, "second": DSTSecond}

func (d DST) String() string { return [...]string{"cron", "literal", "second"}[d] }

// Passes tells which of the instants at which the clock passes a wall minute
// are its occurrences.
type Passes uint8

// The passes. The end of a gap is the one pass of the minutes in it.
const (
	PassFirst Passes = iota
	PassEach         // each at which the clock shows the minute: none for those in a gap
	PassLast
)

// dayRule tells what must be looked at to find the days of a schedule.
type dayRule uint8

const (
	daysSome dayRule = iota // month, day and weekday
	daysAll                 // nothing: every day
	daysNone                // nothing: the schedule names no instant
)

const (
	minutesPerDay = 24 * 60

	// Wall minutes are counted from 0000-03-01, so that they are positive for
	// all years that Next knows and a leap day is the last of its year.
	wallEpoch = 719468 * secondsPerDay // seconds before 1970
)

// schedule gives f a zone (nil means UTC). spec is the text that f was read
// from.
func (f fieldSet) schedule(spec string, zone *Zone) *Schedule {
	if zone == nil {
		zone = NewZone(nil)
	}
	return (&Schedule{fieldSet: f, zone: zone, spec: spec, days: f.dayRule()}).follow(DSTCron)
}

// follow gives s its rule for changes of the zone, before it is used.
func (s *Schedule) follow(d DST) *Schedule {
	s.dst = d
	switch {
	case d == DSTSecond:
		s.passes = PassLast
	case d == DSTLiteral || s.Wildcard():
		s.passes = PassEach
	}
	return s
}

func (f *fieldSet) dayRule() dayRule {
	byDay, byWeekday := f.day == allDays, f.weekday == allWeekdays
	switch {
	case f.minute == 0 || f.hour == 0 || !f.namesDate():
		return daysNone
	case f.month != allMonths:
		return daysSome
	case byDay && byWeekday, !f.needsBothDays() && (byDay || byWeekday):
		return daysAll
	}
	return daysSome
}

// ParseSchedule reads five fields or a nickname as they stand in a crontab.
// zone nil means UTC; seed fixes the values that ~ stands for. The schedule is
// nil if a Diagnostic is an Error, and for @reboot, which names no time.
func ParseSchedule(spec string, zone *Zone, seed uint64) (*Schedule, []Diagnostic) {
	var remarks []Diagnostic
	report := func(col, length int, code Code, sev Severity, message, fix string) {
		remarks = append(remarks, Diagnostic{Line: 1, Column: col + 1, Length: length,
			Severity: sev, Code: code, Message: message, Fix: fix})
	}
	f, ok := parseSpec(spec, seed, report)
	if !ok {
		return nil, remarks
	}
	return f.schedule(spec, zone), remarks
}

func parseSpec(spec string, seed uint64, report reporter) (f fieldSet, ok bool) {
	at := skipBlanks(spec, 0)
	var end int
	if strings.HasPrefix(spec[at:], "@") {
		var reboot bool
		f, end, reboot, ok = parseNickname(spec, at, report)
		if reboot {
			report(at, end-at, codeNoTime, Error, "@reboot names no time", "")
			return f, false
		}
	} else {
		f, end, ok = parseFields(spec, at, seed, report)
	}
	if rest := strings.Trim(spec[end:], " \t"); ok && rest != "" {
		at = end + strings.Index(spec[end:], rest)
		report(at, len(rest), codeMoreFields, Error, fmt.Sprintf("%q follows the time", rest),
			"write five fields: minute hour day month weekday; cron has no seconds")
		return f, false
	}
	return f, ok
}

// Next is the first occurrence after t, in t's location. It is the zero Time
// if there is none up to LastYear.
func (s *Schedule) Next(t time.Time) time.Time {
	from := max(t.Unix()+1, firstSecond)
	if s.days == daysNone || from > lastSecond {
		return time.Time{}
	}
	u, ok := s.search(from)
	if !ok || u > lastSecond {
		return time.Time{}
	}
	return time.Unix(u, 0).In(t.Location())
}

// String is the text that the schedule was read from, and the rule for changes
// of its zone if that is not cron's.
func (s *Schedule) String() string {
	if s.dst == DSTCron {
		return s.spec
	}
	return s.spec + " dst=" + s.dst.String()
}

// Zone is the zone that the fields are read in.
func (s *Schedule) Zone() *Zone { return s.zone }

// Wildcard tells whether s follows the wall clock minute by minute, as a
// schedule does whose minute or hour begins with *. Others are fixed-time.
func (s *Schedule) Wildcard() bool { return s.flags&fieldWildcard != 0 }

// Never tells whether no calendar has an instant that s names, as with
// 30 February.
func (s *Schedule) Never() bool { return s.days == daysNone }

// search finds the first occurrence at or after from, in Unix seconds.
func (s *Schedule) search(from int64) (u int64, ok bool) {
	z := s.zone
	// Wall minutes from low to just before m are known not to be named, so
	// most spans of a long search are passed by looking at their ends.
	var low, m int64
	for i := z.find(from); i < len(z.spans)-1; i++ {
		span := &z.spans[i]
		start, offset, end := max(from, span.start), int64(span.offset), z.spans[i+1].start
		if s.passes == PassLast {
			end -= int64(span.silent)
		}
		w := s.firstWall(span, from)
		if w < low || w > m {
			m = s.nextWall(w)
		}
		low = w
		if u = m*60 - wallEpoch - offset; u < end {
			return max(u, start), true
		}
	}
	return 0, false // only gaps name it
}

// firstWall is the first wall minute of span to look at, from the instant from
// on.
func (s *Schedule) firstWall(span *span, from int64) int64 {
	start := max(from, span.start)
	wall := start + int64(span.offset)
	if s.passes != PassEach {
		resume := span.start + int64(span.offset)
		if s.passes == PassFirst {
			resume += int64(span.resume)
		} else {
			resume += int64(span.made)
		}
		if from <= span.start {
			wall = resume
		} else {
			wall = max(wall, resume)
		}
	}
	return (wall + wallEpoch + 59) / 60
}

// nextWall is the first wall minute at or after w that the fields name.
func (s *Schedule) nextWall(w int64) int64 {
	day, minute := uint64(w)/minutesPerDay, uint64(w)%minutesPerDay
	if s.days == daysAll {
		if at, ok := s.minuteFrom(minute); ok {
			return int64(day*minutesPerDay + at)
		}
		return int64((day+1)*minutesPerDay + s.firstMinute())
	}
	month := monthOf(day)
	days := s.daysOf(month)
	mday := day - month.first
	if days>>mday&1 != 0 {
		if at, ok := s.minuteFrom(minute); ok {
			return int64(day*minutesPerDay + at)
		}
	}
	days &= ^uint32(1) << mday
	for days == 0 {
		month = s.nextMonth(month)
		days = s.daysOf(month)
	}
	return int64((month.first+uint64(bits.TrailingZeros32(days)))*minutesPerDay + s.firstMinute())
}

// minuteFrom is the first minute of a day at or after minute that the fields
// name.
func (s *Schedule) minuteFrom(minute uint64) (at uint64, ok bool) {
	hour := minute / 60
	if s.hour>>hour&1 != 0 {
		if rest := s.minute >> (minute % 60); rest != 0 {
			return minute + uint64(bits.TrailingZeros64(rest)), true
		}
	}
	later := s.hour >> hour >> 1
	if later == 0 {
		return 0, false
	}
	hour += uint64(bits.TrailingZeros32(later)) + 1
	return hour*60 + uint64(bits.TrailingZeros64(s.minute)), true
}

func (s *Schedule) firstMinute() uint64 {
	return uint64(bits.TrailingZeros32(s.hour)*60 + bits.TrailingZeros64(s.minute))
}
