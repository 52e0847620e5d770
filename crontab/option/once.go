package option

import (
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

// OncePer is the local period in which an entry has at most one success.
type OncePer uint8

// The periods. OncePerDue is one due time: it matters after the clock was set back.
const (
	OncePerNone OncePer = iota
	OncePerHour
	OncePerDay
	OncePerWeek
	OncePerMonth
	OncePerDue
)

var periods = map[string]OncePer{"hour": OncePerHour, "day": OncePerDay, "week": OncePerWeek, "month": OncePerMonth, "due": OncePerDue}

// End returns an instant in the period of t or at its end, such that few occurrences
// lie between it and the end.
func (p OncePer) End(t time.Time, zone *time.Location) time.Time {
	local := t.In(zone)
	year, month, day := local.Date()
	switch p {
	case OncePerHour:
		return t.Add(time.Hour - time.Duration(local.Minute()+1)*time.Minute)
	case OncePerDay:
		return time.Date(year, month, day+1, 0, 0, 0, 0, zone)
	case OncePerWeek:
		return time.Date(year, month, day+(7-int(local.Weekday()))%7+1, 0, 0, 0, 0, zone)
	case OncePerMonth:
		return time.Date(year, month+1, 1, 0, 0, 0, 0, zone)
	}
	return t
}

// Same reports whether two due times are in one period, on the clock of a zone. An
// hour that comes twice is one period, and a week begins on Monday. Of OncePerDue
// only equal times are in one period.
func (p OncePer) Same(a, b time.Time, zone *time.Location) bool {
	day, other := timetable.DayOf(a, zone), timetable.DayOf(b, zone)
	switch p {
	case OncePerHour:
		return day == other && a.In(zone).Hour() == b.In(zone).Hour()
	case OncePerDay:
		return day == other
	case OncePerWeek:
		const monday = 3 // 1970-01-01 was a Thursday
		return (day+monday)/7 == (other+monday)/7
	case OncePerMonth:
		year, month, _ := day.Date()
		otherYear, otherMonth, _ := other.Date()
		return year == otherYear && month == otherMonth
	case OncePerDue:
		return a.Equal(b)
	}
	return false
}
