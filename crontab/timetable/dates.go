package timetable

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Dates is an immutable, named set of local dates from 1970 to LastYear.
type Dates struct {
	name   string
	first  int      // month of months[0], counted from year 0
	months []uint32 // bit 0 is the first day
}

// Calendar is a set of dates that options can name.
type Calendar struct {
	Dates  *Dates
	Unread string // not "": why its dates are not known
}

// WeekendCalendar is the name of the calendar that exists without a configuration.
const WeekendCalendar = "weekend"

// AnyCalendar is the entry for calendars that were not found, if the configuration could
// not be read.
const AnyCalendar = "*"

// DateRange is the dates from First to Last.
type DateRange struct{ First, Last Day }

// NewDates returns the dates of ranges, which are between 1970 and LastYear.
func NewDates(name string, ranges []DateRange) *Dates {
	d := &Dates{name: name}
	next := Day(0)
	for _, r := range slices.SortedFunc(slices.Values(ranges), func(a, b DateRange) int { return cmp.Compare(a.First, b.First) }) {
		next = max(next, r.First) // each day is added once, however many ranges have it
		for ; next <= r.Last; next++ {
			m := monthOf(next.count())
			d.add(m, 1<<(next.count()-m.first))
		}
	}
	return d
}

// Weekends returns all Saturdays and Sundays.
func Weekends() *Dates {
	d := &Dates{name: WeekendCalendar}
	for m := monthOf(Day(0).count()); m.year <= LastYear; m = m.following() {
		d.add(m, weekdaysIn(m, allWeekdays&^workweek))
	}
	return d
}

// Union returns the dates of all sets.
func Union(sets ...*Dates) *Dates {
	if len(sets) == 1 {
		return sets[0]
	}
	var names []string
	var ranges []DateRange
	for _, d := range sets {
		names, ranges = append(names, d.name), append(ranges, d.Ranges()...)
	}
	return NewDates(strings.Join(names, ","), ranges)
}

// add adds days of a month.
func (d *Dates) add(m civilMonth, days uint32) {
	at := m.index()
	if len(d.months) == 0 {
		d.first = at
	}
	if at < d.first {
		d.months = append(make([]uint32, d.first-at), d.months...)
		d.first = at
	}
	for at-d.first >= len(d.months) {
		d.months = append(d.months, 0)
	}
	d.months[at-d.first] |= days
}

// in returns the days of m; bit 0 is the first day.
func (d *Dates) in(m civilMonth) uint32 {
	if i := m.index() - d.first; i >= 0 && i < len(d.months) {
		return d.months[i]
	}
	return 0
}

// Ranges returns the dates as ranges, in order.
func (d *Dates) Ranges() (ranges []DateRange) {
	for i, days := range d.months {
		at := d.first + i
		first := dayOfDate(at/12, time.Month(at%12+1), 1)
		for n := range 31 {
			day := first + Day(n)
			switch last := len(ranges) - 1; {
			case days>>n&1 == 0:
			case last >= 0 && ranges[last].Last == day-1:
				ranges[last].Last = day
			default:
				ranges = append(ranges, DateRange{day, day})
			}
		}
	}
	return ranges
}

// identity is equal for sets with the same dates.
func (d *Dates) identity() string {
	return fmt.Sprintf("%x", Mix(uint64(d.first), fmt.Sprint(d.months)))
}

// dayOfDate returns a date as days since 1970-01-01.
func dayOfDate(year int, month time.Month, day int) Day {
	return Day(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

// ParseDay reads a date like 2026-12-24, from 1970 to LastYear.
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || !InRange(t) {
		return 0, fmt.Errorf("%q is not a date from 1970-01-01 to %d-12-31, such as 2026-12-24", text, LastYear)
	}
	return DayOf(t, nil), nil
}

// count returns the day as counted from 0000-03-01.
func (d Day) count() uint64 { return uint64(int64(d) + wallEpoch/secondsPerDay) }
