package timetable

import (
	"strings"
	"testing"
	"time"
)

// around describes the stretches around a change in short: wall time, what the fields match and
// what cronring runs.
func around(c Change, spec string, s *Schedule) string {
	var parts []string
	for _, st := range c.Around(spec, s) {
		text := st.Wall.Format("15:04")
		if st.Pass != Usual {
			text += [...]string{Missing: "missing", First: "first", Again: "again"}[st.Pass]
		}
		for _, t := range st.Named {
			text += " " + t.Format("15:04")
		}
		text += " ="
		for _, t := range st.Runs {
			text += " " + t.UTC().Format("15:04Z")
		}
		parts = append(parts, strings.TrimSuffix(text, " ="))
	}
	return strings.Join(parts, ", ")
}

func TestAroundTellsWhatAChangeDoes(t *testing.T) {
	for _, tc := range []struct {
		zone, spec string
		dst        DST
		spring     string
		autumn     string
	}{
		{"Europe/Berlin", "30 2 * * *", DSTCron,
			"01:00, 01:30, 02:00missing 02:30 = 01:00Z, 03:00, 03:30",
			"02:00first, 02:30first 02:30 = 00:30Z, 02:00again, 02:30again 02:30, 03:00"},
		{"Europe/Berlin", "30 2 * * *", DSTLiteral,
			"01:00, 01:30, 02:00missing 02:30, 03:00, 03:30",
			"02:00first, 02:30first 02:30 = 00:30Z, 02:00again, 02:30again 02:30 = 01:30Z, 03:00"},
		{"Europe/Berlin", "30 2 * * *", DSTSecond,
			"01:00, 01:30, 02:00missing 02:30 = 01:00Z, 03:00, 03:30",
			"02:00first, 02:30first 02:30, 02:00again, 02:30again 02:30 = 01:30Z, 03:00"},
		{"Europe/Berlin", "0 2,3 * * *", DSTCron,
			"01:00, 01:30, 02:00missing 02:00 = 01:00Z, 03:00 03:00 = 01:00Z, 03:30",
			"02:00first 02:00 = 00:00Z, 02:30first, 02:00again 02:00, 02:30again, 03:00 03:00 = 02:00Z"},
		{"Europe/Berlin", "*/30 * * * *", DSTCron,
			"01:00 01:00 = 00:00Z, 01:30 01:30 = 00:30Z, 02:00missing 02:00 02:30, 03:00 03:00 = 01:00Z, 03:30 03:30 = 01:30Z",
			"02:00first 02:00 = 00:00Z, 02:30first 02:30 = 00:30Z, 02:00again 02:00 = 01:00Z, 02:30again 02:30 = 01:30Z, 03:00 03:00 = 02:00Z"},
		{lordHowe, "10 2 * * *", DSTCron,
			"01:30, 01:45, 02:00missing 02:10 = 15:30Z, 02:30, 02:45",
			"01:30first, 01:45first, 01:30again, 01:45again, 02:00 02:10 = 15:40Z"},
	} {
		location, err := time.LoadLocation(tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		zone := NewZone(location)
		s := mustSchedule(t, tc.spec, zone).follow(tc.dst)
		for _, c := range zone.Coming(utc(t, "2026-12-01 00:00"), 2) {
			want := tc.autumn
			if c.Forward() {
				want = tc.spring
			}
			if got := around(c, tc.spec, s); got != want {
				t.Errorf("%q dst=%s in %s at %s:\n got %s\nwant %s", tc.spec, tc.dst, tc.zone, c.At, got, want)
			}
		}
	}
}

// What is cut into stretches is neither more nor less than what there is.
func TestAroundCountsEachRunOnce(t *testing.T) {
	for _, row := range zoneChangeRows {
		for _, rule := range []DST{DSTCron, DSTLiteral, DSTSecond} {
			zone := NewZone(zoneFile(t, "slim", row.zone))
			s := mustSchedule(t, row.spec, zone).follow(rule)
			for _, c := range zone.Changes(utc(t, row.from), utc(t, row.until)) {
				stretches := c.Around(row.spec, s)
				seen := map[time.Time]bool{}
				for _, st := range stretches {
					for _, at := range st.Runs {
						seen[at.UTC()] = true
					}
				}
				first, last := stretches[0], stretches[len(stretches)-1]
				want := namedIn(s, first.At, last.At.Add(c.span()/2))
				if len(seen) != len(want) {
					t.Errorf("row %s dst=%s at %s: got %d runs %v, want the %d that the schedule names", row.row, rule, c.At, len(seen), seen, len(want))
				}
			}
		}
	}
}

func TestComingStopsWhereThereIsNoChange(t *testing.T) {
	if got := NewZone(nil).Coming(utc(t, "2026-12-01 00:00"), 2); len(got) != 0 {
		t.Errorf("UTC: got %v, want no change", got)
	}
	if got := NewZone(zoneFile(t, "slim", newYork)).Coming(utc(t, "2026-12-01 00:00"), 1); len(got) != 1 || !got[0].Forward() {
		t.Errorf("New York: got %v, want the change of March alone", got)
	}
}
