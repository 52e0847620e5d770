package lookup

import (
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// Span reads a time at which an entry had an occurrence, and returns its first and its last moment.
// The time is an instant, or a date, a minute or a second in the zone of the entry. If clocks show
// it twice, it is the first of both, unless the entry has only an occurrence in the second.
func Span(e *crontab.Entry, text string) (first, last time.Time, ok bool) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, t, true
	}
	loc := e.Zone().Location()
	if t, err := timetable.ParseLocal(time.DateOnly, text, loc); err == nil {
		return t, time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, loc).Add(-1), true
	}
	for form, length := range map[string]time.Duration{
		"2006-01-02T15:04": time.Minute - 1, "2006-01-02 15:04": time.Minute - 1,
		"2006-01-02T15:04:05": 0, "2006-01-02 15:04:05": 0,
	} {
		if t, err := timetable.ParseLocal(form, text, loc); err == nil {
			again, twice := timetable.SecondPass(t, loc)
			if twice && !hasOccurrence(e, t, length) && hasOccurrence(e, again, length) {
				t = again
			}
			return t, t.Add(length), true
		}
	}
	return first, last, false
}

// hasOccurrence reports whether an entry has an occurrence at a time, or soon after it.
func hasOccurrence(e *crontab.Entry, from time.Time, length time.Duration) bool {
	if timetable.IsTimeless(e.Schedule) {
		return false
	}
	next := e.Schedule.Next(from.Add(-1))
	return !next.IsZero() && !next.After(from.Add(length))
}
