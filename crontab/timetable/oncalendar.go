package timetable

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
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
