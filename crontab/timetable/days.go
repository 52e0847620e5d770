package timetable

import (
	"fmt"
	"strconv"
	"strings"
)

// Days is a further filter on the local dates of a schedule. The zero value
// selects every day. It is comparable.
type Days struct {
	Rule  DayRule
	Years Years
	Weeks int // every Weeks-th week, from Monday, counted from that of Since; 0 and 1: every week
	Since Day

	Only   *Dates // not nil: only on these dates
	Except *Dates // not nil: not on these dates
	Shift  Shift
}

// Shift is what happens to an occurrence on a date that Only or Except excludes.
type Shift uint8

// The shifts.
const (
	ShiftNone Shift = iota // it is dropped
	ShiftNext              // it moves to the next allowed day
	ShiftPrev              // it moves to the previous allowed day
)

// Shifts are the values of shift=.
var Shifts = map[string]Shift{"none": ShiftNone, "next": ShiftNext, "prev": ShiftPrev}

// MaxShift limits the days by which an occurrence moves. If none of so many
// days is allowed, it is dropped. No month is shorter.
const MaxShift = 28

// SelectsAll reports whether d selects every day.
func (d *Days) SelectsAll() bool { return *d == Days{} }

// Excludes returns why d does not select a date: "is not in day=last"; "" if d
// selects the date.
func (d *Days) Excludes(day Day) string {
	m := monthOf(day.count())
	bit := uint32(1) << (day.count() - m.first)
	for _, part := range []Days{{Years: d.Years}, {Rule: d.Rule}, {Weeks: d.Weeks, Since: d.Since}, {Only: d.Only}} {
		if part.in(m)&part.allowed(m)&bit == 0 {
			return "is not in" + part.String()
		}
	}
	if except := (&Days{Except: d.Except}); except.allowed(m)&bit == 0 {
		return "is in" + except.String()
	}
	return ""
}

// in returns the days of m that d selects, without the sets of dates; bit 0 is
// the first day.
func (d *Days) in(m civilMonth) uint32 {
	if !d.Years.has(m.year) {
		return 0
	}
	return d.Rule.in(m) & d.weeksIn(m)
}

// allowed returns the days of m that the sets of dates allow.
func (d *Days) allowed(m civilMonth) uint32 {
	days := uint32(1)<<m.length - 1
	if d.Only != nil {
		days &= d.Only.in(m)
	}
	if d.Except != nil {
		days &^= d.Except.in(m)
	}
	return days
}

// weeksIn returns the days of m in the weeks that d selects.
func (d *Days) weeksIn(m civilMonth) (days uint32) {
	if d.Weeks <= 1 {
		return 1<<31 - 1
	}
	const epoch = wallEpoch / secondsPerDay
	first := int64(m.first) - epoch
	since := int64(d.Since) - mondayBased(int64(d.Since)+epoch)
	monday := first - mondayBased(int64(m.first))
	for ; monday < first+int64(m.length); monday += 7 {
		if (monday-since)/7%int64(d.Weeks) == 0 {
			days |= uint32(uint64(1<<7-1) << (monday - first + 7) >> 7)
		}
	}
	return days
}

// mondayBased returns the weekday of a day, counted from 0000-03-01: 0 for Monday.
func mondayBased(day int64) int64 { return (day + 2) % 7 } // 0000-03-01 was a Wednesday

// String returns d as options, each with a blank before it.
func (d *Days) String() string {
	text := ""
	if d.Rule != (DayRule{}) {
		text += " day=" + d.Rule.String()
	}
	if d.Years != (Years{}) {
		text += " year=" + d.Years.String()
	}
	if d.Weeks > 1 {
		text += fmt.Sprintf(" weeks=%d of %s", d.Weeks, d.Since)
	}
	if d.Only != nil {
		text += " calendar=" + d.Only.name
	}
	if d.Except != nil {
		text += " except=" + d.Except.name
	}
	return text + [...]string{"", " shift=next", " shift=prev"}[d.Shift]
}

// identity is equal for filters that select the same days.
func (d *Days) identity() string {
	text := d.String()
	for _, dates := range []*Dates{d.Only, d.Except} {
		if dates != nil {
			text += " " + dates.identity()
		}
	}
	return text
}

// describe returns the days in words, with a blank before them; "" for every day.
func (d *Days) describe() string {
	text := ""
	if d.Rule != (DayRule{}) {
		text = " on " + d.Rule.describe()
	}
	if d.Years != (Years{}) {
		text += " in " + joinWords(d.Years.runs(" to "))
	}
	if d.Weeks > 1 {
		text += fmt.Sprintf(" in every %s week from that of %s", ordinal(d.Weeks), d.Since)
	}
	if d.Only != nil {
		text += " on the dates of " + d.Only.name
	}
	if d.Except != nil {
		text += " except the dates of " + d.Except.name
	}
	return text + [...]string{"", ", moved to the next allowed day", ", moved to the previous allowed day"}[d.Shift]
}

// Years is a set of years from 1970 to LastYear. The zero value is all of them.
type Years [(LastYear-firstYear)/64 + 1]uint64

const firstYear = 1970

// ParseYears reads a list of years and ranges of years.
func ParseYears(text string) (y Years, err error) {
	for item := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(item, "-")
		if !ranged {
			to = from
		}
		first, ok := parseYear(from)
		last, also := parseYear(to)
		if !ok || !also || first > last {
			return y, fmt.Errorf("%q is not a list of years from %d to %d", text, firstYear, LastYear)
		}
		for year := first; year <= last; year++ {
			y[(year-firstYear)/64] |= 1 << ((year - firstYear) % 64)
		}
	}
	return y, nil
}

func parseYear(text string) (year int, ok bool) {
	year, _ = strconv.Atoi(text)
	return year, year >= firstYear && year <= LastYear && text == strconv.Itoa(year)
}

func (y *Years) has(year uint64) bool {
	if *y == (Years{}) {
		return true
	}
	i := year - firstYear // huge for earlier years
	return i <= LastYear-firstYear && y[i/64]>>(i%64)&1 != 0
}

func (y *Years) String() string { return strings.Join(y.runs("-"), ",") }

// runs lists the years, two or more in a row as a range.
func (y *Years) runs(to string) (words []string) {
	for year := uint64(firstYear); year <= LastYear; year++ {
		first := year
		for y.has(year) {
			year++
		}
		switch {
		case year == first:
		case year == first+1:
			words = append(words, fmt.Sprint(first))
		default:
			words = append(words, fmt.Sprintf("%d%s%d", first, to, year-1))
		}
	}
	return words
}
