package migration

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/spool"
)

// calendarShortcuts are the words of systemd.time(7) for whole expressions.
var calendarShortcuts = map[string]string{
	"minutely":      "*-*-* *:*:00",
	"hourly":        "*-*-* *:00:00",
	"daily":         "*-*-* 00:00:00",
	"weekly":        "Mon *-*-* 00:00:00",
	"monthly":       "*-*-01 00:00:00",
	"yearly":        "*-01-01 00:00:00",
	"annually":      "*-01-01 00:00:00",
	"quarterly":     "*-01,04,07,10-01 00:00:00",
	"semiannually":  "*-01,07-01 00:00:00",
	"semi-annually": "*-01,07-01 00:00:00",
}

// calendar is an OnCalendar= expression as five fields of cron.
type calendar struct {
	spec string // minute hour day month weekday
	zone string // for tz=; "" is the host's
}

// translateCalendar returns the cron schedule with the same times as an OnCalendar=
// expression. The error names what cron cannot express.
func translateCalendar(expression string) (calendar, error) {
	var c calendar
	words := strings.Fields(expression)
	if words, c.zone = cutZone(words); c.zone != "" {
		if _, err := spool.LoadZone(c.zone); err != nil {
			return c, err
		}
	}
	if len(words) == 1 {
		if full, ok := calendarShortcuts[strings.ToLower(words[0])]; ok {
			words = strings.Fields(full)
		}
	}
	weekdays, words, err := cutWeekdays(words)
	if err != nil {
		return c, err
	}
	date, clock := "*-*-*", "00:00:00"
	switch {
	case len(words) == 2:
		date, clock = words[0], words[1]
	case len(words) == 1 && strings.Contains(words[0], ":"):
		clock = words[0]
	case len(words) == 1:
		date = words[0]
	case len(words) > 2 || weekdays == "*":
		return c, fmt.Errorf("%q is not a supported calendar expression", expression)
	}
	month, day, err := calendarDate(date)
	if err != nil {
		return c, err
	}
	hour, minute, err := calendarClock(clock)
	if err != nil {
		return c, err
	}
	if weekdays != "*" && day != "*" {
		// A weekday field that begins with * is asked beside the day and not
		// instead of it, and */7 is such a way to write Sunday.
		if weekdays != "7" {
			return c, errors.New("day and weekday are both set: cron runs on either, systemd on days that are both")
		}
		weekdays = "*/7"
	}
	c.spec = strings.Join([]string{minute, hour, day, month, weekdays}, " ")
	if s, _ := timetable.ParseSchedule(c.spec, nil, 0); s == nil || s.Never() {
		return c, fmt.Errorf("%q names no instant in cron", c.spec)
	}
	return c, nil
}

// cutZone takes the zone off the end: the last word, if it begins with a
// letter and is neither a weekday nor a shortcut.
func cutZone(words []string) ([]string, string) {
	if len(words) < 2 {
		return words, ""
	}
	last := words[len(words)-1]
	if lower := last[0] | 0x20; lower < 'a' || lower > 'z' {
		return words, ""
	}
	if _, err := calendarWeekdays(last); err == nil {
		return words, ""
	}
	return words[:len(words)-1], last
}

// cutWeekdays takes the weekdays off the beginning, as a field of cron.
func cutWeekdays(words []string) (string, []string, error) {
	if len(words) == 0 {
		return "*", nil, nil
	}
	if lower := words[0][0] | 0x20; lower < 'a' || lower > 'z' {
		return "*", words, nil
	}
	field, err := calendarWeekdays(words[0])
	return field, words[1:], err
}

func calendarWeekdays(text string) (string, error) {
	var items []string
	for item := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		from, to, isRange := strings.Cut(item, "..")
		if !isRange {
			from, to, isRange = strings.Cut(item, "-")
		}
		first, err := calendarWeekday(from)
		if err != nil {
			return "", err
		}
		if !isRange {
			items = append(items, strconv.Itoa(first))
			continue
		}
		last, err := calendarWeekday(to)
		if err != nil {
			return "", err
		}
		if last < first {
			return "", fmt.Errorf("the range of weekdays %q runs backwards", item)
		}
		items = append(items, fmt.Sprintf("%d-%d", first, last))
	}
	return strings.Join(items, ","), nil
}

// calendarWeekday numbers a weekday from Monday, 1, to Sunday, 7: ranges of systemd follow
// that order, and every cron accepts the values.
func calendarWeekday(name string) (int, error) {
	for i, full := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		if lower := strings.ToLower(name); lower == full || lower == full[:3] {
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("%q is not a weekday", name)
}

func calendarDate(text string) (month, day string, err error) {
	if strings.Contains(text, "~") {
		return "", "", errors.New("~ counts days from the end of the month, which cron cannot")
	}
	parts := strings.Split(text, "-")
	switch {
	case len(parts) == 3 && parts[0] != "*":
		return "", "", errors.New("it contains years, and cron has no field for them")
	case len(parts) == 3:
		parts = parts[1:]
	case len(parts) != 2:
		return "", "", fmt.Errorf("%q is not a date", text)
	}
	if month, err = calendarField(parts[0], 1, 12); err != nil {
		return "", "", fmt.Errorf("month: %w", err)
	}
	if day, err = calendarField(parts[1], 1, 31); err != nil {
		return "", "", fmt.Errorf("day: %w", err)
	}
	return month, day, nil
}

func calendarClock(text string) (hour, minute string, err error) {
	parts := strings.Split(text, ":")
	if len(parts) != 2 && len(parts) != 3 {
		return "", "", fmt.Errorf("%q is not a time of day", text)
	}
	if len(parts) == 3 && strings.Trim(parts[2], "0") != "" {
		return "", "", errors.New("it contains seconds, and cron starts at second 0 of a minute")
	}
	if hour, err = calendarField(parts[0], 0, 23); err != nil {
		return "", "", fmt.Errorf("hour: %w", err)
	}
	if minute, err = calendarField(parts[1], 0, 59); err != nil {
		return "", "", fmt.Errorf("minute: %w", err)
	}
	return hour, minute, nil
}

// calendarField translates one component: values, ranges A..B and repetitions
// A/S, in a list.
func calendarField(text string, low, high int) (string, error) {
	if text == "*" {
		return "*", nil
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		field, err := calendarItem(item, low, high)
		if err != nil {
			return "", err
		}
		items = append(items, field)
	}
	// In a list, * at the beginning would count for more than its own item.
	if len(items) > 1 {
		items[0] = strings.Replace(items[0], "*", fmt.Sprintf("%d-%d", low, high), 1)
	}
	return strings.Join(items, ","), nil
}

func calendarItem(item string, low, high int) (string, error) {
	values, repeat, repeated := strings.Cut(item, "/")
	from, to, isRange := strings.Cut(values, "..")
	first, err := calendarNumber(from, low, high)
	if err != nil {
		return "", err
	}
	last := first
	if isRange {
		if last, err = calendarNumber(to, first, high); err != nil {
			return "", err
		}
	}
	if !repeated {
		if isRange {
			return fmt.Sprintf("%d-%d", first, last), nil
		}
		return strconv.Itoa(first), nil
	}
	step, err := calendarNumber(repeat, 1, 1<<20)
	if err != nil {
		return "", err
	}
	if !isRange {
		last = high
	}
	switch {
	case first+step > last:
		return strconv.Itoa(first), nil
	case first == 0 && !isRange:
		return fmt.Sprintf("*/%d", step), nil
	}
	return fmt.Sprintf("%d-%d/%d", first, last, step), nil
}

func calendarNumber(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high || text[0] == '+' {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
	}
	return n, nil
}
