package holidays

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab/timetable"
)

// Parse reads the text of a calendar file: an iCalendar file if it begins with
// BEGIN:VCALENDAR, else a list of dates. It reports the first line that it cannot
// read, because a calendar with missing dates would let jobs run on them.
func Parse(name, text string) (*timetable.Dates, error) {
	read := parseList
	if strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "BEGIN:VCALENDAR") {
		read = parseEvents
	}
	ranges, err := read(text)
	if err != nil {
		return nil, err
	}
	if len(ranges) == 0 {
		return nil, errors.New("it has no date")
	}
	return timetable.NewDates(name, ranges), nil
}

// Format returns dates as the text of a list, with a date or range a line.
func Format(dates *timetable.Dates) string {
	var b strings.Builder
	for _, r := range dates.Ranges() {
		b.WriteString(r.First.String())
		if r.Last != r.First {
			b.WriteString(".." + r.Last.String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// parseList reads one date or range a line: 2026-12-24 or 2026-12-24..2026-12-26.
// What follows after a blank is for people, and so is a line that begins with #.
func parseList(text string) (ranges []timetable.DateRange, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		from, to, ranged := strings.Cut(words[0], "..")
		if !ranged {
			to = from
		}
		r, err := parseRange(from, to)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func parseRange(from, to string) (r timetable.DateRange, err error) {
	if r.First, err = timetable.ParseDay(from); err != nil {
		return r, err
	}
	if r.Last, err = timetable.ParseDay(to); err != nil {
		return r, err
	}
	if r.Last < r.First {
		return r, fmt.Errorf("%s is before %s", to, from)
	}
	return r, nil
}

// parseEvents reads the all-day events of an iCalendar file (RFC 5545). Events
// with a time of day and repeated events are errors.
func parseEvents(text string) (ranges []timetable.DateRange, err error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	number, depth := 0, 0
	var e event
	for line := range strings.Lines(text) {
		number++
		if line[0] == ' ' || line[0] == '\t' {
			continue // continues a line that is too long to be a date
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, _, _ = strings.Cut(strings.ToUpper(name), ";")
		switch {
		case name == "BEGIN" && value == "VEVENT":
			e, depth = event{}, 1
			continue
		case depth == 0:
			continue
		case name == "BEGIN":
			depth++
		case name == "END":
			depth--
		}
		if depth == 1 {
			err = e.set(name, value)
		}
		if depth == 0 && !e.cancelled {
			var r timetable.DateRange
			r, err = e.dates()
			ranges = append(ranges, r)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if depth > 0 {
		return nil, errors.New("its last event has no end")
	}
	return ranges, nil
}

// event contains the parts of an event that matter here.
type event struct {
	start, end string // DTSTART and DTEND
	cancelled  bool
}

func (e *event) set(name, value string) error {
	switch name {
	case "DTSTART":
		e.start = value
	case "DTEND":
		e.end = value
	case "STATUS":
		e.cancelled = strings.EqualFold(value, "CANCELLED")
	case "RRULE", "RDATE", "DURATION":
		return fmt.Errorf("%s is not supported: use a file that lists the dates of each year", name)
	}
	return nil
}

// dates returns the dates of the event. DTEND is the day after the last.
func (e *event) dates() (r timetable.DateRange, err error) {
	if r.First, err = day(e.start); err != nil || e.end == "" {
		r.Last = r.First
		return r, err
	}
	after, err := day(e.end)
	if err == nil && after <= r.First {
		err = fmt.Errorf("the event ends on %s, before it begins", e.end)
	}
	r.Last = after - 1
	return r, err
}

// day reads a date of an all-day event: 20261224.
func day(text string) (timetable.Day, error) {
	if len(text) != 8 {
		return 0, fmt.Errorf("%q is not a date such as 20261224: only all-day events are supported", text)
	}
	return timetable.ParseDay(text[:4] + "-" + text[4:6] + "-" + text[6:])
}
