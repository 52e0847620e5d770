package timetable

import (
	"fmt"
	"time"
)

// Day is a civil date as days since 1970-01-01. anacron's timestamps store only
// the date.
type Day int32

// DayOf returns the date in loc at t. A nil loc means UTC.
func DayOf(t time.Time, loc *time.Location) Day {
	if loc == nil {
		loc = time.UTC
	}
	_, offset := t.In(loc).Zone()
	wall := t.Unix() + int64(offset)
	day := wall / secondsPerDay
	if wall%secondsPerDay < 0 {
		day--
	}
	return Day(day)
}

// Date returns year, month and day of the month.
func (d Day) Date() (year int, month time.Month, day int) {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Date()
}

// String formats the day as 2026-11-20.
func (d Day) String() string {
	year, month, day := d.Date()
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
}

// Period is anacron's rule for a job: run once every Days days, when the host is
// up. It depends only on the date of the last run, which is stored under ID.
type Period struct {
	ID          string // name of the timestamp file: "cron.daily"
	Days        int    // days between two runs: 1, 7, N
	Month, Year bool   // once a calendar month or year; Days is 0 then
	Delay       time.Duration
	From, Until int // hours of the day in which a run may start, From <= h < Until; Until 0: any
}

// Due reports whether a job that last ran on stamp should run on today. It is
// due if stamp is in the future, because a clock was wrong then.
func (p *Period) Due(stamp, today Day) bool {
	delta := int(today - stamp)
	switch year, month, _ := today.Date(); {
	case delta < 0:
		return true
	case p.Month:
		return delta >= daysIn(year, month-1) || delta == daysIn(year, month)
	case p.Year:
		return delta >= daysInYear(year-1) || delta == daysInYear(year)
	}
	return delta >= p.Days
}

// daysIn returns the length of a month in days; month 0 is December of the previous year.
func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func daysInYear(year int) int {
	return time.Date(year+1, time.January, 0, 0, 0, 0, 0, time.UTC).YearDay()
}

// Start returns the earliest start of a run that became due at found: Delay
// after found, or, if that is outside the hours From to Until in loc, Delay after
// the first full hour that puts it inside. This is what an anacron that is
// started each hour does, and jobs with different delays still start apart. If
// no time in a week is inside the hours, only Delay applies.
func (p *Period) Start(found time.Time, loc *time.Location) time.Time {
	if p.Until == 0 {
		return found.Add(p.Delay)
	}
	if loc == nil {
		loc = time.UTC
	}
	const aWeek = 7*24 + 2 // hours, with room for a change of the clock
	look := found
	for range aWeek {
		if p.InHours(look.Add(p.Delay), loc) {
			return look.Add(p.Delay)
		}
		_, minute, second := look.In(loc).Clock()
		into := time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + time.Duration(look.Nanosecond())
		look = look.Add(time.Hour - into)
	}
	return found.Add(p.Delay)
}

// InHours reports whether a run may start at an instant.
func (p *Period) InHours(at time.Time, loc *time.Location) bool {
	hour := at.In(loc).Hour()
	return p.Until == 0 || hour >= p.From && hour < p.Until
}
