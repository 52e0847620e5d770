package timetable

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// OnCalendar returns the schedule as calendar events of systemd.time(7): two
// events if either day or weekday is enough, none for a schedule without
// occurrences or with a filter of the days. systemd treats clock changes differently: it skips times in a
// gap and uses only one pass of a repeated hour.
func (s *Schedule) OnCalendar() []string {
	if s.Never() || s.filter != nil {
		return nil
	}
	zone := ""
	if name := s.zone.String(); name != "Local" {
		zone = " " + name
	}
	at := fmt.Sprintf(" %s:%s:00%s", numbers(uint64(s.hour), 0, 24), numbers(s.minute, 0, 60), zone)
	date := func(days uint32) string {
		return fmt.Sprintf("*-%s-%s", numbers(uint64(s.month), 1, 13), numbers(uint64(days), 1, 32))
	}
	switch {
	case s.weekday == allWeekdays && s.needsBothDays():
		return []string{date(s.day) + at}
	case s.needsBothDays():
		return []string{s.weekdays() + " " + date(s.day) + at}
	case s.weekday == allWeekdays, s.day == allDays:
		return []string{date(allDays) + at}
	}
	return []string{date(s.day) + at, s.weekdays() + " " + date(allDays) + at}
}

// CronFields returns the fields of s, or of the schedule that it wraps, for the parsers
// of Kubernetes (robfig/cron) and Nomad (cronexpr), which start a job if either a
// restricted day or a restricted weekday matches, whatever the fields begin with.
// exact is false if s requires both: the fields have only its weekdays then. fields
// is "" if no five fields can express s. An interval is in the fields of UTC.
func CronFields(s cron.Schedule) (fields string, zone *Zone, exact bool) {
	for at := range layers(s) {
		switch at := at.(type) {
		case *Schedule:
			if at.Never() {
				return "", nil, false
			}
			day, weekday := numbers(uint64(at.day), 1, 32), numbers(uint64(at.weekday), 0, 7)
			exact = !at.needsBothDays() || day == "*" || weekday == "*"
			if !exact || !at.needsBothDays() && weekday == "*" {
				day = "*"
			}
			if !at.needsBothDays() && at.day == allDays {
				weekday = "*"
			}
			return strings.Join([]string{numbers(at.minute, 0, 60), numbers(uint64(at.hour), 0, 24), day, numbers(uint64(at.month), 1, 13), weekday}, " "), at.zone, exact
		case *every:
			fields = at.fields()
			return fields, NewZone(nil), fields != ""
		}
	}
	return "", nil, false
}

// fields returns the five fields of an interval in UTC, or "" if it has none: if it is
// not in whole minutes, or a day is not a multiple of it.
func (e *every) fields() string {
	const day = 24 * time.Hour
	if day%e.period != 0 || e.period%time.Minute != 0 || e.phase%time.Minute != 0 {
		return ""
	}
	var minutes, hours uint64
	for at := e.phase % e.period; at < day; at += e.period {
		minutes |= 1 << (at / time.Minute % 60)
		hours |= 1 << (at / time.Hour)
	}
	if bits.OnesCount64(minutes)*bits.OnesCount64(hours) != int(day/e.period) {
		return ""
	}
	return numbers(minutes, 0, 60) + " " + numbers(hours, 0, 24) + " * * *"
}

// weekdays names the days of the week.
func (s *Schedule) weekdays() string {
	var names []string
	for d, name := range [...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} {
		if s.weekday>>d&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// numbers lists the values of a field from first on, or is * for all of them.
func numbers(mask uint64, first, end int) string {
	mask &= 1<<end - 1<<first
	if bits.OnesCount64(mask) == end-first {
		return "*"
	}
	var list []string
	for n := first; n < end; n++ {
		if mask>>n&1 != 0 {
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, ",")
}
