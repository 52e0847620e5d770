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
	filter *Days // not nil: selects among the days of the fields
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

	// noWall is later than the local minute of any occurrence.
	noWall = (lastSecond + wallEpoch + 2*366*secondsPerDay) / 60
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

// on limits s to some days, before s is used.
func (s *Schedule) on(d Days) *Schedule {
	if d.SelectsAll() || s.days == daysNone {
		return s
	}
	s.filter, s.days = &d, daysSome
	if s.nextWall(wallEpoch/60) == noWall {
		s.days = daysNone
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
	report := func(col, length int, code diagnostic.Code, message, fix string) {
		diagnostics = append(diagnostics, diagnostic.Diagnostic{Line: 1, Column: col + 1, Length: length,
			Severity: code.Severity(), Code: code, Message: diagnostic.Harmless(message), Fix: diagnostic.Harmless(fix)})
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
			report(at, end-at, codeNoTime, "@reboot has no scheduled time", "")
			return f, false
		}
	} else {
		f, end, ok = ParseFields(spec, at, seed, report)
	}
	if rest := strings.Trim(spec[end:], " \t"); ok && rest != "" {
		at = end + strings.Index(spec[end:], rest)
		report(at, len(rest), codeMoreFields, fmt.Sprintf("%q follows the time", rest),
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

// String returns the text of the fields, the DST rule if it is not DSTCron, and
// the filter of the days.
func (s *Schedule) String() string {
	text := s.spec
	if s.dst != DSTCron {
		text += " dst=" + s.dst.String()
	}
	if s.filter != nil {
		text += s.filter.String()
	}
	return text
}

// Zone returns the time zone of the fields.
func (s *Schedule) Zone() *Zone { return s.zone }

// Wildcard reports whether the minute or hour of s begins with *. Other schedules
// are fixed-time.
func (s *Schedule) Wildcard() bool { return s.flags&fieldWildcard != 0 }

// Never reports whether s has no occurrences up to LastYear, as with 30 February.
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

// nextWall returns the first local minute at or after w that matches the fields
// and the filter, or noWall if it is long after LastYear.
func (s *Schedule) nextWall(w int64) int64 {
	day, minute := uint64(w)/minutesPerDay, uint64(w)%minutesPerDay
	if s.days == daysAll {
		if at, ok := s.minuteFrom(minute); ok {
			return int64(day*minutesPerDay + at)
		}
		return int64((day+1)*minutesPerDay + s.firstMinute())
	}
	month := monthOf(day)
	days := s.daysIn(month)
	mday := day - month.first
	if days>>mday&1 != 0 {
		if at, ok := s.minuteFrom(minute); ok {
			return int64(day*minutesPerDay + at)
		}
	}
	days &= ^uint32(1) << mday
	for days == 0 {
		if month.year > LastYear {
			return noWall
		}
		month = s.nextMonth(month)
		days = s.daysIn(month)
	}
	return int64((month.first+uint64(bits.TrailingZeros32(days)))*minutesPerDay + s.firstMinute())
}

// daysIn returns the days of m on which s occurs; bit 0 is the first day.
func (s *Schedule) daysIn(m civilMonth) uint32 {
	switch {
	case s.filter == nil:
		return s.daysOf(m)
	case s.filter.Shift != ShiftNone:
		return s.shiftedDays(m)
	}
	if days := s.selected(m); days != 0 {
		return days & s.filter.allowed(m)
	}
	return 0
}

// selected returns the days of m that the fields and the filter select, without
// its sets of dates.
func (s *Schedule) selected(m civilMonth) uint32 {
	if !s.filter.Years.has(m.year) {
		return 0 // quickly, because years may be far away
	}
	return s.daysOf(m) & s.filter.in(m)
}

// shiftedDays returns the days of m on which s occurs after days that are not
// allowed have moved. A day moves to a workday if all selected days are workdays.
func (s *Schedule) shiftedDays(m civilMonth) (days uint32) {
	earlier, step := m.preceding(), -1 // an allowed day takes the days right before it
	later := m
	if s.filter.Shift == ShiftPrev {
		earlier, later, step = m, m.following(), 1
	}
	selected := uint64(s.selected(earlier)) | uint64(s.selected(later))<<earlier.length
	if selected == 0 {
		return 0
	}
	allowed := uint64(s.allowedTarget(earlier)) | uint64(s.allowedTarget(later))<<earlier.length
	for n := range m.length {
		at := n + int(m.first-earlier.first)
		if allowed>>at&1 == 0 {
			continue
		}
		taken := selected >> at & 1
		for from, left := at+step, MaxShift; left > 0 && from >= 0 && allowed>>from&1 == 0; from, left = from+step, left-1 {
			taken |= selected >> from & 1
		}
		days |= uint32(taken) << n
	}
	return days
}

// allowedTarget returns the days of m to which an occurrence may move.
func (s *Schedule) allowedTarget(m civilMonth) uint32 {
	days := s.filter.allowed(m)
	if s.filter.Rule.isWorkdays() || s.weekday&^workweek == 0 && s.needsBothDays() {
		days &= weekdaysIn(m, workweek)
	}
	return days
}

// nextMonth returns the first month after m that may have a day of s.
func (s *Schedule) nextMonth(m civilMonth) civilMonth {
	if s.filter != nil && s.filter.Shift != ShiftNone {
		return m.following()
	}
	return s.FieldSet.nextMonth(m)
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
