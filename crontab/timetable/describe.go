package timetable

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Describe returns in words when s occurs, in local time of its zone.
func Describe(s cron.Schedule) string {
	switch s := s.(type) {
	case *Schedule:
		return s.describe()
	case reboot:
		return "when the host boots"
	case never:
		return "never by schedule"
	case afterEnd:
		return DurationText(s.delay) + " after the end of each run"
	case *every:
		if s.phase == 0 {
			return "every " + durationWords(s.period)
		}
		return fmt.Sprintf("every %s, shifted by %s", durationWords(s.period), DurationText(s.phase))
	case *dated:
		return Describe(s.inner) + s.minutes.filter.describe()
	case *periodic:
		return s.period.describe()
	case *once:
		return "once at " + instantWords(s.at)
	case *seconds:
		return s.describe()
	case *jitter:
		return fmt.Sprintf("%s, up to %s later at random", Describe(s.inner), DurationText(s.limit))
	case *spread:
		return fmt.Sprintf("%s, %s later", Describe(s.inner), DurationText(s.delay))
	case *between:
		return s.describe()
	case *within:
		return s.describe()
	case *count:
		return fmt.Sprintf("%s, the first %s from %s", Describe(s.inner), plural(s.n, "time"), instantWords(s.from))
	case fmt.Stringer:
		return s.String()
	}
	return fmt.Sprintf("schedule of type %T", s)
}

func (p *Period) describe() string {
	words := "once in " + plural(p.Days, "day")
	switch {
	case p.Month:
		words = "once a month"
	case p.Year:
		words = "once a year"
	case p.Days <= 1:
		words = "once a day"
	}
	if p.Delay > 0 {
		words += fmt.Sprintf(", %s after it is found due", DurationText(p.Delay))
	}
	if p.Until > 0 {
		words += fmt.Sprintf(", between %02d:00 and %02d:00", p.From, p.Until)
	}
	return words
}

func (s *Schedule) describe() string {
	if s.Never() {
		return "never"
	}
	when, rhythm := s.timeWords()
	on, filter := s.dateWords(), ""
	if s.filter != nil {
		filter = s.filter.describe()
	}
	if on == "" && !rhythm && (s.filter == nil || s.filter.Rule == DayRule{}) {
		on = " every day"
	}
	if on != "" && on != " every day" && filter != "" {
		filter = ", but only" + filter
	}
	return when + on + s.monthWords() + filter + s.dst.words()
}

// words describes the effect of clock changes, with a comma before it, or returns
// "" if it is that of cron.
func (d DST) words() string {
	switch d {
	case DSTLiteral:
		return ", skipped where clocks are set forward and repeated where they are set back"
	case DSTSecond:
		return ", the second time where clocks are set back"
	}
	return ""
}

func (s *seconds) describe() string {
	inner := Describe(s.inner)
	if first, step, ok := progression(s.mask, 59); ok && first == 0 && 60%step == 0 {
		if rest, found := strings.CutPrefix(inner, "every minute"); found {
			return "every " + plural(step, "second") + rest
		}
	}
	return inner + ", at " + listWords("second", s.mask)
}

func (b *between) describe() string {
	text := Describe(b.inner)
	if !b.from.IsZero() {
		text += ", from " + instantWords(b.from)
	}
	if !b.until.IsZero() {
		text += ", until " + instantWords(b.until)
	}
	return text
}

// mostTimes is the highest number of times of day in a list.
const mostTimes = 6

// timeWords describes the times of day. rhythm reports that they are regular over
// the whole day, so that "every day" would add no information.
func (f *FieldSet) timeWords() (words string, rhythm bool) {
	const allHours = 1<<24 - 1
	minutes, hours := bits.OnesCount64(f.minute), bits.OnesCount32(f.hour)
	if f.hour == allHours {
		return f.hourlyWords(), true
	}
	if minutes*hours <= mostTimes {
		return "at " + joinWords(f.timesOfDay()), false
	}
	firstHour, lastHour := bits.TrailingZeros32(f.hour), 31-bits.LeadingZeros32(f.hour)
	firstMinute, lastMinute := bits.TrailingZeros64(f.minute), 63-bits.LeadingZeros64(f.minute)
	if beat, ok := f.beat(); ok && hours == lastHour-firstHour+1 {
		return fmt.Sprintf("every %s from %02d:%02d to %02d:%02d", beat, firstHour, firstMinute, lastHour, lastMinute), false
	}
	if first, step, ok := progression(uint64(f.hour), 23); ok && first == 0 && 24%step == 0 && minutes == 1 {
		words = "every " + plural(step, "hour")
		if firstMinute > 0 {
			words += fmt.Sprintf(" at minute %d", firstMinute)
		}
		return words, true
	}
	return f.minuteWords() + " of " + listWords("hour", uint64(f.hour)), false
}

// hourlyWords describes the minutes of every hour.
func (f *FieldSet) hourlyWords() string {
	if beat, ok := f.beat(); ok && f.minute&1 != 0 {
		return "every " + beat
	}
	return f.minuteWords() + " of every hour"
}

// minuteWords describes the minutes; the caller appends the hours.
func (f *FieldSet) minuteWords() string {
	first, step, ok := progression(f.minute, 59)
	switch {
	case ok && first == 0 && 60%step == 0:
		return "every " + plural(step, "minute")
	case ok:
		return fmt.Sprintf("every %s from minute %d", plural(step, "minute"), first)
	}
	return "at " + listWords("minute", f.minute)
}

// beat returns the interval between the minutes if it is constant, also between
// hours.
func (f *FieldSet) beat() (words string, ok bool) {
	if bits.OnesCount64(f.minute) == 1 {
		return "hour", true
	}
	first, step, ok := progression(f.minute, 59)
	return plural(step, "minute"), ok && first == 0 && 60%step == 0
}

func (f *FieldSet) timesOfDay() []string {
	var times []string
	for hour := range 24 {
		for minute := range 60 {
			if f.hour>>hour&1 != 0 && f.minute>>minute&1 != 0 {
				times = append(times, fmt.Sprintf("%02d:%02d", hour, minute))
			}
		}
	}
	return times
}

// dateWords describes the days, with a blank before them; "" for every day.
func (f *FieldSet) dateWords() string {
	everyDay, everyWeekday := f.day == allDays, f.weekday == allWeekdays
	byDay := listWords("day", uint64(f.day))
	if first, step, ok := progression(uint64(f.day), 31); ok && step > 1 {
		byDay = fmt.Sprintf("every %s day from day %d of the month", ordinal(step), first)
	}
	byWeekday := joinWords(runs(uint64(f.weekday), weekdayName))
	switch {
	case f.needsBothDays() && everyDay && everyWeekday, !f.needsBothDays() && (everyDay || everyWeekday):
		return ""
	case f.needsBothDays() && everyDay, f.day == 0:
		return " on " + byWeekday
	case !f.needsBothDays() && f.weekday != 0:
		return " on " + byDay + " or on " + byWeekday
	case f.weekday != 0 && !everyWeekday:
		return " on " + byDay + " if it is " + byWeekday
	case f.oneDate():
		return fmt.Sprintf(" on %d %s", bits.TrailingZeros32(f.day), time.Month(bits.TrailingZeros16(f.month)))
	}
	return " on " + byDay
}

// oneDate reports whether only one day of one month matches the fields.
func (f *FieldSet) oneDate() bool {
	return bits.OnesCount32(f.day) == 1 && bits.OnesCount16(f.month) == 1 &&
		(f.weekday == 0 || f.needsBothDays() && f.weekday == allWeekdays)
}

// monthWords describes the months, with a blank before them, or returns "" if
// dateWords includes them.
func (f *FieldSet) monthWords() string {
	if f.month == allMonths || f.oneDate() {
		return ""
	}
	return " in " + joinWords(runs(uint64(f.month), func(n int) string { return time.Month(n).String() }))
}

// progression reports whether mask has at least three values: first, first+step
// and so on up to highest.
func progression(mask uint64, highest int) (first, step int, ok bool) {
	if bits.OnesCount64(mask) < 3 {
		if mask == 1|1<<30 && highest == 59 {
			return 0, 30, true
		}
		return 0, 1, false
	}
	first = bits.TrailingZeros64(mask)
	step = bits.TrailingZeros64(mask>>first>>1) + 1
	for v := first; v <= highest; v += step {
		mask ^= 1 << v
	}
	return first, step, mask == 0
}

// runs returns the names of the bits of mask, three or more in a row as "A to B".
func runs(mask uint64, name func(int) string) []string {
	var words []string
	for mask != 0 {
		from := bits.TrailingZeros64(mask)
		length := bits.TrailingZeros64(^(mask >> from))
		switch length {
		case 1:
			words = append(words, name(from))
		case 2:
			words = append(words, name(from), name(from+1))
		default:
			words = append(words, name(from)+" to "+name(from+length-1))
		}
		mask &^= (1<<length - 1) << from
	}
	return words
}

// listWords returns noun followed by the values of mask.
func listWords(noun string, mask uint64) string {
	if bits.OnesCount64(mask) > 1 {
		noun += "s"
	}
	return noun + " " + joinWords(runs(mask, strconv.Itoa))
}

// joinWords returns "a", "a and b" or "a, b and c".
func joinWords(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func weekdayName(n int) string { return time.Weekday(n).String() }

// plural returns "minute" for 1 and "5 minutes" for 5.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// numbered returns "1 minute" for 1 and "5 minutes" for 5.
func numbered(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return plural(n, noun)
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// durationWords writes d in the largest unit of which it is a multiple.
func durationWords(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if d%unit.size == 0 {
			return plural(int(d/unit.size), unit.name)
		}
	}
	return d.String()
}

func instantWords(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") }

// PerYear returns the number of occurrences of s in a calendar year of its zone,
// or of UTC. For Jitter and Spread it counts occurrences before they are delayed.
func PerYear(s cron.Schedule, year int) int {
	if p := PeriodOf(s); p != nil {
		return p.perYear(year)
	}
	loc := locationOf(s)
	just := time.Date(year, time.January, 1, 0, 0, 0, 0, loc).Add(-time.Nanosecond)
	return countBetween(s, just, time.Date(year+1, time.January, 1, 0, 0, 0, 0, loc))
}

// countBetween counts the occurrences of s after after and before end. Its loops
// go over minutes at most, not over seconds.
func countBetween(s cron.Schedule, after, end time.Time) int {
	n := 0
	switch s := s.(type) {
	case *jitter:
		return countBetween(s.inner, after, end)
	case *spread:
		return countBetween(s.inner, after, end)
	case *between:
		if just := s.from.Add(-time.Nanosecond); !s.from.IsZero() && just.After(after) {
			after = just
		}
		if past := s.until.Add(time.Nanosecond); !s.until.IsZero() && past.Before(end) {
			end = past
		}
		return countBetween(s.inner, after, end)
	case *within:
		return s.countBetween(after, end)
	case *every:
		if first := s.Next(after); !first.IsZero() && first.Before(end) {
			n = 1 + int(end.Add(-time.Nanosecond).Sub(first)/s.period)
		}
		return n
	case *seconds:
		whole := end.Add(-59 * time.Second) // all seconds of a minute that begins before this are before end
		n = countBetween(s.inner, after, whole) * bits.OnesCount64(s.mask)
		for minute := s.inner.Next(after.Add(-time.Minute)); !minute.IsZero() && minute.Before(end); minute = s.inner.Next(minute) {
			if minute.After(after) && minute.Before(whole) {
				minute = whole.Add(-time.Nanosecond)
				continue
			}
			for mask := s.mask; mask != 0; mask &= mask - 1 {
				if at := minute.Add(time.Duration(bits.TrailingZeros64(mask)) * time.Second); at.After(after) && at.Before(end) {
					n++
				}
			}
		}
		return n
	}
	for at := s.Next(after); !at.IsZero() && at.Before(end); at = s.Next(at) {
		n++
	}
	return n
}

// perYear returns how often a host that is always up runs the job.
func (p *Period) perYear(year int) int {
	switch {
	case p.Month:
		return 12
	case p.Year:
		return 1
	}
	return (daysInYear(year) + p.Days/2) / max(p.Days, 1)
}

// locationOf returns the zone of s or of the schedule that it wraps, else UTC.
func locationOf(s cron.Schedule) *time.Location {
	for at := range layers(s) {
		if zoned, ok := at.(interface{ Zone() *Zone }); ok {
			return zoned.Zone().Location()
		}
	}
	return time.UTC
}
