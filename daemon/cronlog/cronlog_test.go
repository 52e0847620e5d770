package cronlog

import (
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
