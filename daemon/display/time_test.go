package display

import (
	"math"
	"testing"
	"time"
)

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 40 * time.Microsecond: "1ms", 7 * time.Millisecond: "7ms", 240 * time.Millisecond: "0.2s", 12400 * time.Millisecond: "12.4s",
		49 * time.Second: "49s", 59940 * time.Millisecond: "59.9s", 59970 * time.Millisecond: "1m00s", 169 * time.Second: "2m49s",
		9*time.Hour + 14*time.Minute: "9h14m", 149 * time.Hour: "6d05h", -time.Minute: "-1m00s", math.MinInt64: "-106751d23h",
	} {
		if got := Brief(d); got != want {
			t.Errorf("Brief(%v): got %q, want %q", d, got, want)
		}
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestAwayAndAgo(t *testing.T) {
	now := time.Date(2026, 11, 20, 18, 2, 11, 400_000_000, time.UTC)
	for _, tc := range []struct {
		at        time.Time
		away, ago string
	}{
		{time.Time{}, "-", "never"},
		{now, "due", "now"},
		{now.Add(400 * time.Millisecond), "due", "now"},
		{now.Add(169*time.Second + 100*time.Millisecond), "2m49s", "now"},
		{now.Add(-131 * time.Second), "due", "2m11s"},
	} {
		if got := Away(tc.at, now); got != tc.away {
			t.Errorf("Away(%v): got %q, want %q", tc.at, got, tc.away)
		}
		if got := Ago(tc.at, now); got != tc.ago {
			t.Errorf("Ago(%v): got %q, want %q", tc.at, got, tc.ago)
		}
	}
}

func TestPointHourAndStamp(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 11, 20, 18, 2, 11, 0, zone).UTC()
	for _, tc := range []struct {
		at                 time.Time
		point, hour, stamp string
	}{
		{time.Date(2026, 11, 20, 0, 0, 0, 0, zone), "00:00:00", "00:00", "Fri 20 Nov 00:00:00 CET"},
		{time.Date(2026, 11, 19, 23, 59, 59, 0, zone), "Thu 23:59", "Thu 23", "Thu 19 Nov 23:59:59 CET"},
		{time.Date(2026, 11, 26, 9, 0, 0, 0, zone), "Thu 09:00", "Thu 09", "Thu 26 Nov 09:00:00 CET"},
		{time.Date(2026, 11, 27, 9, 0, 0, 0, zone), "27 Nov 26", "27 Nov", "Fri 27 Nov 09:00:00 CET"},
		{time.Date(2027, 7, 1, 9, 0, 0, 0, zone), "1 Jul 27", "2027", "Thu 1 Jul 2027 09:00:00 CEST"},
		{time.Date(2026, 11, 21, 0, 30, 0, 0, time.UTC), "Sat 00:30", "Sat 00", "Sat 21 Nov 00:30:00 UTC"},
	} {
		if got := string(Clock24.AppendPoint(nil, tc.at, now)); got != tc.point {
			t.Errorf("AppendPoint(%v): got %q, want %q", tc.at, got, tc.point)
		}
		dated := tc.point
		switch dated {
		case "27 Nov 26":
			dated = "27 Nov 09:00"
		case "1 Jul 27":
			dated = "1 Jul 27 09:00"
		}
		if got := string(Clock24.AppendDated(nil, tc.at, now)); got != dated {
			t.Errorf("AppendDated(%v): got %q, want %q", tc.at, got, dated)
		}
		if got := string(Clock24.AppendHour(nil, tc.at, now)); got != tc.hour {
			t.Errorf("AppendHour(%v): got %q, want %q", tc.at, got, tc.hour)
		}
		if got := Clock24.Stamp(tc.at, now); got != tc.stamp {
			t.Errorf("Stamp(%v): got %q, want %q", tc.at, got, tc.stamp)
		}
	}
}

func TestClockOf12Hours(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 11, 20, 18, 2, 11, 0, zone)
	if got, want := string(Clock12.AppendDated(nil, time.Date(2027, 7, 1, 9, 0, 0, 0, zone), now)), "1 Jul 27 9:00am"; got != want {
		t.Errorf("AppendDated: got %q, want %q", got, want)
	}
	for _, tc := range []struct {
		at                 time.Time
		point, hour, stamp string
	}{
		{now.Add(3 * time.Minute), "6:05:11pm", "6:05pm", "Fri 20 Nov 6:05:11pm CET"},
		{time.Date(2026, 11, 20, 0, 0, 0, 0, zone), "12:00:00am", "12:00am", "Fri 20 Nov 12:00:00am CET"},
		{time.Date(2026, 11, 21, 12, 30, 0, 0, zone), "Sat 12:30pm", "Sat 12pm", "Sat 21 Nov 12:30:00pm CET"},
		{time.Date(2027, 7, 1, 9, 0, 0, 0, zone), "1 Jul 27", "2027", "Thu 1 Jul 2027 9:00:00am CEST"},
	} {
		point, hour, stamp := string(Clock12.AppendPoint(nil, tc.at, now)), string(Clock12.AppendHour(nil, tc.at, now)), Clock12.Stamp(tc.at, now)
		if point != tc.point || hour != tc.hour || stamp != tc.stamp {
			t.Errorf("%v: got %q, %q, %q, want %q, %q, %q", tc.at, point, hour, stamp, tc.point, tc.hour, tc.stamp)
		}
		if len(point) > Clock12.PointWidth() {
			t.Errorf("%q is wider than %d", point, Clock12.PointWidth())
		}
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	zone := berlin(t)
	now := time.Date(2026, 11, 20, 18, 2, 11, 0, zone)
	var room [64]byte
	got := testing.AllocsPerRun(100, func() {
		b := AppendBrief(room[:0], 12400*time.Millisecond)
		b = AppendAway(b, now.Add(time.Hour), now)
		b = AppendAgo(b, now.Add(-time.Hour), now)
		b = Clock24.AppendPoint(b, now.Add(30*time.Hour), now)
		Clock24.AppendHour(b, now.Add(300*time.Hour), now)
	})
	if got != 0 {
		t.Errorf("allocations: got %v, want none", got)
	}
}
