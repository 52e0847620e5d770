package why

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// mismatch returns why a schedule does not contain an instant.
func mismatch(e *crontab.Entry, at time.Time) string {
	if timetable.IsTimeless(e.Schedule) {
		return "nothing was due then: it is due " + e.Meaning()
	}
	if !lastBefore(e, at).IsZero() {
		return "no occurrence follows: " + timetable.Describe(e.Schedule)
	}
	fields := strings.Fields(e.Spec())
	base, plain := unwrap(e.Schedule).(*timetable.Schedule)
	wall := at.In(e.Zone().Location())
	var against []string
	if days := timetable.DaysOf(e.Schedule); days != nil {
		if by := days.Excludes(timetable.DayOf(at, e.Zone().Location())); by != "" {
			against = append(against, wall.Format("Mon 2 Jan 2006")+" "+by)
		}
	}
	if plain && len(fields) == 5 {
		against = append(wrongFields(fields, wall), against...)
	}
	if hours, wait := timetable.HoursOf(e.Schedule); hours != nil && !hours.Include(at) {
		by := wall.Format("Mon 15:04") + " is " + hours.Words("outside of", "or", "in")
		if wait {
			by += ", so that the occurrence waits until " + hours.Opens(at).In(wall.Location()).Format("Mon 2 Jan 2006 15:04")
		}
		against = append(against, by)
	}
	if len(against) > 0 {
		return strings.Join(against, "; ")
	}
	if !plain || len(fields) != 5 {
		return fmt.Sprintf("%s (%s) does not name it", e.Spec(), timetable.Describe(e.Schedule))
	}
	if !isOccurrence(base, at.Truncate(time.Minute)) {
		if fact := repeatFact(e.Zone(), at); fact != "" {
			pass := "first"
			if strings.HasSuffix(fact, "first pass") { // with dst=second
				pass = "second"
			}
			return fact + ", and a fixed time is run in the " + pass + " pass only"
		}
		return "the fields match the wall clock, but not this instant"
	}
	return "the fields match, but what stands above the entry moves or ends it: " + timetable.Describe(e.Schedule)
}

// lastBefore returns the last occurrence of an entry, or zero if another one follows an instant.
func lastBefore(e *crontab.Entry, at time.Time) time.Time {
	if timetable.IsTimeless(e.Schedule) || !e.Schedule.Next(at.Add(-1)).IsZero() {
		return time.Time{}
	}
	return timetable.Previous(e.Schedule, at)
}

// unwrap returns the schedule below modifiers.
func unwrap(s cron.Schedule) cron.Schedule {
	for {
		over, ok := s.(interface{ Unwrap() cron.Schedule })
		if !ok {
			return s
		}
		s = over.Unwrap()
	}
}

// wrongFields returns which of five fields do not match a wall time. It checks each one with stars
// for the others; day and weekday only together, because they are combined by a rule of their own.
func wrongFields(fields []string, wall time.Time) []string {
	var wrong []string
	ask := func(spec, value, written string) {
		if !names(spec, wall) {
			wrong = append(wrong, fmt.Sprintf("%s is not in %s", value, written))
		}
	}
	ask(fields[0]+" * * * *", fmt.Sprintf("minute %d", wall.Minute()), quoted(fields[0]))
	ask("* "+fields[1]+" * * *", fmt.Sprintf("hour %d", wall.Hour()), quoted(fields[1]))
	ask("* * * "+fields[3]+" *", "month "+wall.Format("Jan"), quoted(fields[3]))
	day, weekday := fmt.Sprintf("day %d", wall.Day()), "weekday "+wall.Format("Mon")
	switch {
	case fields[4] == "*":
		ask("* * "+fields[2]+" * *", day, quoted(fields[2]))
	case fields[2] == "*":
		ask("* * * * "+fields[4], weekday, quoted(fields[4]))
	default:
		ask("* * "+fields[2]+" * "+fields[4], day+", "+weekday, quoted(fields[2])+" with "+quoted(fields[4]))
	}
	return wrong
}

// names reports whether fields match a wall time. It checks in UTC, where each wall time exists
// once. The value chosen for ~ is not known here, so a field with ~ always matches.
func names(spec string, wall time.Time) bool {
	s, _ := timetable.ParseSchedule(spec, nil, 0)
	if s == nil || strings.Contains(spec, "~") {
		return true
	}
	y, m, d := wall.Date()
	return isOccurrence(s, time.Date(y, m, d, wall.Hour(), wall.Minute(), 0, 0, time.UTC))
}

func quoted(field string) string { return `"` + field + `"` }

// wallFact describes how often the wall time of an instant exists on its day.
func wallFact(z *timetable.Zone, at time.Time) string {
	if fact := repeatFact(z, at); fact != "" {
		return fact
	}
	wall := at.In(z.Location())
	day := timetable.DayOf(at, z.Location())
	for _, c := range changesOn(z, at) {
		if c.After > c.Before && timetable.DayOf(c.At, z.Location()) == day {
			from, to := c.At.In(time.FixedZone("", c.Before)).Format("15:04"), c.At.Format("15:04")
			return fmt.Sprintf("clocks went forward from %s to %s in %s that day; fixed times between run at %s", from, to, z, to)
		}
	}
	return fmt.Sprintf("%s exists once in %s that day", wall.Format("15:04"), z)
}

// repeatFact reports that the wall time of an instant occurs twice, or returns "".
func repeatFact(z *timetable.Zone, at time.Time) string {
	for _, c := range changesOn(z, at) {
		length := time.Duration(c.Before-c.After) * time.Second
		if length <= 0 || at.Before(c.At.Add(-length)) || !at.Before(c.At.Add(length)) {
			continue
		}
		pass := "first"
		if !at.Before(c.At) {
			pass = "second"
		}
		return fmt.Sprintf("%s came twice in %s that day, this is the %s pass",
			at.In(z.Location()).Format("15:04"), z, pass)
	}
	return ""
}

// changesOn returns the changes of offset on the civil day of an instant, and shortly before and after it.
func changesOn(z *timetable.Zone, at time.Time) []timetable.Change {
	y, m, d := at.In(z.Location()).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, z.Location())
	return z.Changes(day.Add(-3*time.Hour), day.Add(28*time.Hour))
}
