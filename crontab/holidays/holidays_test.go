package holidays

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/cronring/cronring/crontab/timetable"
)

func TestParse(t *testing.T) {
	event := func(lines string) string {
		return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nDTSTART:not of an event\r\nBEGIN:VEVENT\r\n" + strings.ReplaceAll(lines, "\n", "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	}
	for _, test := range []struct{ text, want, err string }{
		{"# of 2026\n\n2026-12-24..2026-12-26 Christmas\n 2026-01-01\tNew Year\n2026-01-02", "2026-01-01..2026-01-02 2026-12-24..2026-12-26", ""},
		{"1970-01-01\n2199-12-31", "1970-01-01..1970-01-01 2199-12-31..2199-12-31", ""},
		{"2027-12-30..2028-01-02\n", "2027-12-30..2028-01-02", ""},
		{"2026-01-01\n2026-02-30\n", "", `line 2: "2026-02-30" is not a date from 1970-01-01 to 2199-12-31, such as 2026-12-24`},
		{"2026-01-02..2026-01-01\n", "", "line 1: 2026-01-01 is before 2026-01-02"},
		{"2026-01-02..\n", "", `line 1: "" is not a date from 1970-01-01 to 2199-12-31, such as 2026-12-24`},
		{"2200-01-01\n", "", `line 1: "2200-01-01" is not a date from 1970-01-01 to 2199-12-31, such as 2026-12-24`},
		{strings.Repeat("1970-01-01..2199-12-31\n", 40_000), "1970-01-01..2199-12-31", ""}, // it takes no minutes
		{"# none\n", "", "it has no date"},
		{event("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227\nSUMMARY:Christmas\nDESCRIPTION:x\n DTSTART:2"), "2026-12-25..2026-12-26", ""},
		{event("DTSTART;VALUE=DATE:20261225\nBEGIN:VALARM\nDTSTART:x\nRRULE:x\nEND:VALARM"), "2026-12-25..2026-12-25", ""},
		{event("DTSTART;VALUE=DATE:20261225\nEND:VEVENT\nBEGIN:VEVENT\ndtstart:20270101\nSTATUS:CANCELLED"), "2026-12-25..2026-12-25", ""},
		{event("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY"), "", "line 6: RRULE is not supported: use a file that lists the dates of each year"},
		{event("DTSTART:20261225T080000Z"), "", `line 6: "20261225T080000Z" is not a date such as 20261224: only all-day events are supported`},
		{event("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261225"), "", "line 7: the event ends on 20261225, before it begins"},
		{event("SUMMARY:no date"), "", `line 6: "" is not a date such as 20261224: only all-day events are supported`},
		{"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\n", "", "its last event has no end"},
	} {
		dates, err := Parse("x", test.text)
		var got []string
		if dates != nil {
			for _, r := range dates.Ranges() {
				got = append(got, fmt.Sprintf("%s..%s", r.First, r.Last))
			}
		}
		if strings.Join(got, " ") != test.want || fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
			t.Errorf("%q:\n got %v, %v\nwant %s, %s", test.text, got, err, test.want, test.err)
		}
	}
}

// FuzzParse reads any calendar file.
func FuzzParse(f *testing.F) {
	f.Add("# of 2026\n\n2026-12-24..2026-12-26 Christmas\n 2026-01-01\tNew Year\n1970-01-01\n2199-12-31")
	f.Add("\ufeffBEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261225\r\nDTEND;VALUE=DATE:20261227\r\nSUMMARY:Christmas\r\n DTSTART:2\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nBEGIN:VALARM\nRRULE:x\nEND:VALARM\ndtstart:20270101\nSTATUS:CANCELLED\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:\x1b[31m")
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:19700101\nDTEND:19700101\n")
	f.Fuzz(func(t *testing.T, text string) {
		dates, err := Parse("x", text)
		if err != nil {
			if dates != nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q: %v and the error %q", text, dates, err)
			}
			return
		}
		last := timetable.Day(-2)
		for _, r := range dates.Ranges() {
			if r.First <= last+1 || r.Last < r.First || r.Last.String() > "2199-12-31" {
				t.Fatalf("%q: the range %s..%s after %s", text, r.First, r.Last, last)
			}
			last = r.Last
		}
		if last < 0 {
			t.Fatalf("%q has no date", text)
		}
		list := Format(dates)
		again, err := Parse("x", list+"# the end")
		if err != nil || Format(again) != list {
			t.Errorf("read %q, written and read again %v, %v", list, again, err)
		}
	})
}
