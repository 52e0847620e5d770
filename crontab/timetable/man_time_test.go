package timetable

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/man/mantest"
)

// TestTimePageSaysWhenEntriesAreDue compares the tables of man/cronring-time.7 about changes of
// zones with the schedules; with UPDATE_SCRIPTS=1 it rewrites them.
func TestTimePageSaysWhenEntriesAreDue(t *testing.T) {
	wrong, checked, err := mantest.CheckTables("../../man/cronring-time.7", "zone", os.Getenv("UPDATE_SCRIPTS") != "",
		func(table mantest.Table, row []string) (cells []string) {
			location, err := time.LoadLocation(table.About[1])
			if err != nil {
				t.Fatal(err)
			}
			from, until := wallTime(t, table.About[2], location), wallTime(t, table.About[3], location)
			s := mustSchedule(t, row[0], NewZone(location))
			for _, rule := range []DST{DSTCron, DSTLiteral, DSTSecond} {
				if table.Head[1+rule] != rule.String() {
					t.Fatalf("%v: got the columns %q, want %s at %d", table.About, table.Head, rule, 1+rule)
				}
				cells = append(cells, dueBetween(s.follow(rule), from, until))
			}
			return cells
		})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 20 {
		t.Errorf("got %d rows, want at least 20", checked)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func wallTime(t *testing.T, text string, location *time.Location) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02T15:04", text, location)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// dueBetween returns the wall-clock times at which s is due, from one instant up to another. A
// time that occurs twice in that span is followed by its pass.
func dueBetween(s *Schedule, from, until time.Time) string {
	form := "15:04"
	if until.Sub(from) > 25*time.Hour {
		form = "2 Jan 15:04"
	}
	var texts []string
	for at := s.Next(from.Add(-1)); !at.IsZero() && at.Before(until); at = s.Next(at) {
		texts = append(texts, at.In(from.Location()).Format(form)+pass(at.In(from.Location())))
	}
	if texts == nil {
		return "-"
	}
	return strings.Join(texts, ", ")
}

// pass returns whether this is the first or the second instant with its wall-clock time.
func pass(at time.Time) string {
	for _, step := range []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} {
		switch at.Format(time.DateTime) {
		case at.Add(step).Format(time.DateTime):
			return "/1"
		case at.Add(-step).Format(time.DateTime):
			return "/2"
		}
	}
	return ""
}
