package cronlog

import (
	"bufio"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseReadsTheFormsOfCronsLog(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	from, to := time.Date(2026, 11, 21, 12, 0, 0, 0, zone), time.Date(2026, 11, 21, 12, 10, 0, 0, zone)
	for line, want := range map[string]string{
		"Nov 21 12:01:01 db CRON[1]: (bob) CMD (mail)":                               "12:01:01 bob mail",
		"2026-11-21T12:02:01.123456+01:00 db CROND[7]: (root) CMD (a b)":             "12:02:01 root a b",
		"1795258981.000001 db CRON[1]: (root) CMD ([12] run-parts /etc/x)":           "12:03:01 root run-parts /etc/x",
		"Nov 21 11:59:58 db CRON[1]: (bob) CMD (too early)":                          "",
		"Nov 21 12:10:00 db CRON[1]: (bob) CMD (too late)":                           "",
		"Nov 21 12:01:01 db CRON[1]: (bob) INFO (pidfile fd = 3)":                    "",
		"Nov 21 12:01:01 db evil[1]: CRON[1]: (root) CMD (forged)":                   "",
		"Nov 21 12:01:01 db CRON[1]: pam_unix(cron:session): session opened":         "",
		strings.Repeat("x", 2*maxLine) + "\nNov 21 12:04:01 db CRON[1]: (a) CMD (b)": "12:04:01 a b",
	} {
		got, err := Parse(strings.NewReader(line+"\n"), zone, from, to)
		text := ""
		for _, s := range got {
			text += s.At.In(zone).Format("15:04:05 ") + s.User + " " + s.Command
		}
		if err != nil || text != want {
			t.Errorf("%.80s: got %q, %v, want %q", line, text, err, want)
		}
	}
}

// TestJournalOfRoot: a user who writes to the journal as CRON feigns no start.
func TestJournalOfRoot(t *testing.T) {
	if args := JournalArgs(time.Unix(1, 0), time.Unix(2, 0)); !slices.Contains(args, "_UID=0") {
		t.Errorf("got %q, want only messages of root", args)
	}
}

// TestParseIgnoresTheEndOfALongLine: a user who can write a long line to the log feigns no start.
func TestParseIgnoresTheEndOfALongLine(t *testing.T) {
	from := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const start = "Nov 21 12:01:01 db CRON[1]: (root) CMD (x)\n"
	got, err := Parse(strings.NewReader(strings.Repeat("x", maxLine)+start+start), time.UTC, from, from.Add(time.Hour))
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v, want the start on a line of its own", got, err)
	}
}

// FuzzParse reads any log.
func FuzzParse(f *testing.F) {
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	to := from.Add(time.Hour)
	const longest = 256 // so that there are longer lines
	const start = "Jan  1 12:01:01 db CRON[1]: (bob) CMD (mail)\n"
	f.Add(start + "2026-01-01T12:02:01.123456+01:00 db CROND[7]: (root) CMD (a b)\n" + "1767269001.000001 db CRON[1]: (root) CMD ([12] run-parts /etc/x)")
	f.Add("9223372036854775807.9 CRON: () CMD ()\n-1.2.3 CRON: (a) CMD (\x1b[31m)\r\n0000-01-01T00:00:00+23:59 CRON: (a) CMD (b)\n")
	f.Add("Dec 31 23:59:59 db CRON[1]: (bob) CMD (a) CMD (b)\n\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		parse := func(text string) []Start {
			got, err := parseLines(bufio.NewReaderSize(strings.NewReader(text), longest), time.UTC, from, to)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		all := parse(text)
		if len(all) > 1+strings.Count(text, "\n") {
			t.Errorf("%q has %d starts", text, len(all))
		}
		for _, s := range all {
			if s.At.Before(from.Add(-Early)) || !s.At.Before(to) || strings.Contains(s.User, ")") || strings.Contains(s.User+s.Command, "\n") || s.Command != strings.TrimSpace(s.Command) {
				t.Errorf("%q has the start %+v", text, s)
			}
		}
		if more := parse(start + text + "\n" + start); len(more) != len(all)+2 || !slices.Equal(more[1:len(more)-1], all) {
			t.Errorf("%q between two starts has %+v, want %+v", text, more, all)
		}
		first, rest, _ := strings.Cut(text, "\n")
		if got := parse(strings.Repeat("x", longest) + text); !slices.Equal(got, parse(rest)) {
			t.Errorf("%q at the end of a long line has %+v", first, got)
		}
	})
}
