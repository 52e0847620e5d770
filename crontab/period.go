package crontab

import (
	"fmt"
	"time"
)

// Day is a civil date as days since 1970-01-01. anacron's stamps hold no
// more: what ran yesterday at 23:59 ran yesterday.
type Day int32

// DayOf is the date on the calendars of loc, nil meaning UTC, at an instant.
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

// Date is the day as a calendar has it.
func (d Day) Date() (year int, month time.Month, day int) {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Date()
}

// String is the day as people write it: 2026-11-20.
func (d Day) String() string {
	year, month, day := d.Date()
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
}

// Period is anacron's rule for a job: run once in so many days, whenever the
// host is up. It looks at dates, never at times of day, and remembers nothing
// but the date of the last run, under its ID.
type Period struct {
	ID          string // names the stamp: "cron.daily"
	Days        int    // days between two runs: 1, 7, N
	Month, Year bool   // once a calendar month or year; Days is 0 then
	Delay       time.Duration
	From, Until int // hours of the day in which a run may start, From <= h < Until; Until 0: any
}

// Due reports whether a job that last ran on stamp is to run on today. A stamp
// that lies ahead is no obstacle: some clock was wrong.
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

// daysIn is the length of a month; month 0 is December of the year before.
func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func daysInYear(year int) int {
	return time.Date(year+1, time.January, 0, 0, 0, 0, 0, time.UTC).YearDay()
}

// Start is when a run may start that was found due at an instant: after Delay,
// and if that is not in the hours from From to Until on the clocks of loc, so
// long after the first full hour for which it is. That is what anacron does
// where something starts it each hour, and keeps apart what delays keep apart.
// Where no day has those hours, Delay alone counts.
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

// InHours tells whether a run may start at an instant.
func (p *Period) InHours(at time.Time, loc *time.Location) bool {
	hour := at.In(loc).Hour()
	return p.Until == 0 || hour >= p.From && hour < p.Until
}
