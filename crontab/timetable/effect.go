package timetable

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Wall returns the local time at an offset in seconds from UTC, as a time in UTC.
func Wall(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Effect describes in words what a clock change does to a schedule with the
// fields spec. It compares the local times that match the fields with the
// occurrences of the schedule.
func (c Change) Effect(spec string, s cron.Schedule) string {
	plain := plainOf(spec, s)
	if plain == nil {
		return "no effect"
	}
	before, after := Wall(c.At, c.Before), Wall(c.At, c.After)
	if c.Forward() {
		return gapEffect(c, s, namedIn(plain, before, after))
	}
	return repeatEffect(c, s, namedIn(plain, after, before))
}

// plainOf returns the fields spec in UTC, with the filters of s; nil if they name no
// time, or if at=, every= or delay= replaces them. A nil s has no options.
func plainOf(spec string, s cron.Schedule) cron.Schedule {
	plain, _ := ParseSchedule(spec, nil, 0)
	if plain == nil || s != nil && !hasFields(s) {
		return nil
	}
	if d := DaysOf(s); d != nil {
		plain.on(*d)
	}
	if w := withinOf(s); w != nil && !w.wait {
		hours := *w.hours
		hours.zone = plain.zone
		return Within(plain, &hours, false)
	}
	return plain
}

// hasFields reports whether the times of s are those of fields.
func hasFields(s cron.Schedule) bool {
	for at := range layers(s) {
		if _, ok := at.(*Schedule); ok {
			return true
		}
	}
	return false
}

// mostNamed limits the number of times to compare around a change: one for each second of a day.
const mostNamed = 24 * 60 * 60

// namedIn lists the occurrences of s in [from, to).
func namedIn(s cron.Schedule, from, to time.Time) []time.Time {
	var list []time.Time
	for t := s.Next(from.Add(-1)); !t.IsZero() && t.Before(to) && len(list) < mostNamed; t = s.Next(t) {
		list = append(list, t)
	}
	return list
}

func gapEffect(c Change, s cron.Schedule, named []time.Time) string {
	if len(named) == 0 {
		return "no effect: it names no time in the gap"
	}
	if c.madeUp(s) {
		return fmt.Sprintf("%s: it runs once at %s", wallTimes(named, "does not exist", "do not exist"), c.At.Format("15:04 -07:00"))
	}
	return fmt.Sprintf("%s: %s fewer that day", wallTimes(named, "does not exist", "do not exist"), numbered(len(named), "run"))
}

func repeatEffect(c Change, s cron.Schedule, named []time.Time) string {
	if len(named) == 0 {
		return "no effect: it names no repeated time"
	}
	span := c.span()
	twice := wallTimes(named, "comes twice", "come twice")
	first, second := len(namedIn(s, c.At.Add(-span), c.At)), len(namedIn(s, c.At, c.At.Add(span)))
	switch {
	case second == 0:
		return twice + ": it runs the first time only"
	case first == 0:
		return twice + ": it runs the second time only"
	}
	return twice + ": it runs both times, " + numbered(second, "run") + " more that day"
}

// wallTimes lists up to three local times, or the first and last of more,
// followed by the words for one or for several.
func wallTimes(named []time.Time, one, several string) string {
	var texts []string
	for _, t := range named {
		texts = append(texts, t.Format("15:04"))
	}
	switch n := len(texts); {
	case n == 1:
		return texts[0] + " " + one
	case n > 3:
		return texts[0] + ".." + texts[n-1] + " " + several
	}
	return strings.Join(texts, ", ") + " " + several
}
