package timetable

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// Schedule is the set of occurrences of five time fields in a time zone. It
// implements robfig/cron's Schedule, is immutable and safe for concurrent use.
//
// A wildcard schedule (its minute or hour begins with *) is compared with the
// local time at each real minute: it has no occurrence in a gap and occurs in
// both passes of a repeated hour. Any other schedule is fixed-time: each matching
// local minute has one occurrence. If the minute is in a gap, it occurs at the
// end of the gap; if the minute is repeated, it occurs in the first pass. Minutes
// with the same instant are one occurrence. Nothing is caught up after a gap of
// more than three hours, and after a repeat of three hours or more fixed-time
// schedules run again.
//
// These are the rules of cron. A schedule with another DST follows that rule for
// all fields and for changes of any size.
type Schedule struct {
	FieldSet
	zone   *Zone
	spec   string
	days   dayRule
	dst    DST
	passes Passes
}

// DST is the rule for changes of a zone's offset.
type DST uint8

// The rules for changes.
const (
	DSTCron    DST = iota // like cron, see Schedule
	DSTLiteral            // whenever the clock shows the minute: never in a gap, twice in a repeated hour
	DSTSecond             // once for each minute: at the end of its gap, or in the last pass of a repeated hour
)

var DSTs = map[string]DST{"cron": DSTCron, "literal": DSTLiteral, "second": DSTSecond}

func (d DST) String() string { return [...]string{"cron", "literal", "second"}[d] }

// Passes selects the occurrences of a local minute among the instants at which
// the clock reaches it.
type Passes uint8

// The passes. For minutes in a gap, the end of the gap is the only pass.
const (
	PassFirst Passes = iota
	PassEach         // each time that the clock shows the minute: none in a gap
	PassLast
)

// dayRule selects the fields that Next must check to find the days of a schedule.
type dayRule uint8

const (
	daysSome dayRule = iota // month, day and weekday
	daysAll                 // nothing: every day
	daysNone                // nothing: the schedule has no occurrences
)

const (
	minutesPerDay = 24 * 60

	// Local minutes are counted from 0000-03-01, so that they are positive for
	// all supported years and a leap day is the last day of its year.
	wallEpoch = 719468 * secondsPerDay // seconds before 1970
)

// Schedule combines f with a zone (nil means UTC). spec is the text of the
// fields.
func (f FieldSet) Schedule(spec string, zone *Zone) *Schedule {
	if zone == nil {
		zone = NewZone(nil)
	}
	return (&Schedule{FieldSet: f, zone: zone, spec: spec, days: f.dayRule()}).follow(DSTCron)
}

// follow sets the rule for clock changes, before s is used.
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

func (f *FieldSet) dayRule() dayRule {
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

// ParseSchedule reads five fields or a nickname. A nil zone means UTC; seed
// determines the random values of ~. The schedule is nil if a Diagnostic is an
// Error, and for @reboot, which has no time.
func ParseSchedule(spec string, zone *Zone, seed uint64) (*Schedule, []diagnostic.Diagnostic) {
	var diagnostics []diagnostic.Diagnostic
	report := func(col, length int, code diagnostic.Code, sev diagnostic.Severity, message, fix string) {
		diagnostics = append(diagnostics, diagnostic.Diagnostic{Line: 1, Column: col + 1, Length: length,
			Severity: sev, Code: code, Message: message, Fix: fix})
	}
	f, ok := parseSpec(spec, seed, report)
	if !ok {
		return nil, diagnostics
	}
	return f.Schedule(spec, zone), diagnostics
}

func parseSpec(spec string, seed uint64, report Reporter) (f FieldSet, ok bool) {
	at := lex.SkipBlanks(spec, 0)
	var end int
	if strings.HasPrefix(spec[at:], "@") {
		var reboot bool
		f, end, reboot, ok = ParseNickname(spec, at, report)
		if reboot {
			report(at, end-at, codeNoTime, diagnostic.Error, "@reboot has no scheduled time", "")
			return f, false
		}
	} else {
		f, end, ok = ParseFields(spec, at, seed, report)
	}
	if rest := strings.Trim(spec[end:], " \t"); ok && rest != "" {
		at = end + strings.Index(spec[end:], rest)
		report(at, len(rest), codeMoreFields, diagnostic.Error, fmt.Sprintf("%q follows the time", rest),
			"write five fields: minute hour day month weekday; cron has no seconds")
		return f, false
	}
	return f, ok
}

// Next returns the first occurrence after t, in t's location, or the zero Time if
// no occurrence follows up to LastYear.
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

// String returns the text of the fields, and the DST rule if it is not DSTCron.
func (s *Schedule) String() string {
	if s.dst == DSTCron {
		return s.spec
	}
	return s.spec + " dst=" + s.dst.String()
}

// Zone returns the time zone of the fields.
func (s *Schedule) Zone() *Zone { return s.zone }

// Wildcard reports whether the minute or hour of s begins with *. Other schedules
// are fixed-time.
func (s *Schedule) Wildcard() bool { return s.flags&fieldWildcard != 0 }

// Never reports whether s has no occurrences, as with 30 February.
func (s *Schedule) Never() bool { return s.days == daysNone }

// search finds the first occurrence at or after from, in Unix seconds.
func (s *Schedule) search(from int64) (u int64, ok bool) {
	z := s.zone
	// Local minutes from low to m, without m, are known not to match, so a long
	// search only compares the ends of most spans.
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
	return 0, false // all matching times are in gaps
}

// firstWall returns the first local minute of span to check, at or after the
// instant from.
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

// nextWall returns the first local minute at or after w that matches the fields.
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

// minuteFrom returns the first minute of a day, at or after minute, that matches
// the fields.
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
