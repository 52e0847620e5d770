package job

import (
	"testing"
	"time"
)

func TestStartsOnSaysTheWholeSchedule(t *testing.T) {
	for _, tc := range []struct {
		options      map[string]string
		want, fields string
	}{
		{nil, "*/5 * * * *", "*/5 * * * *"},
		{map[string]string{"sec": "0,30", "phase": "1m"}, "*/5 * * * * sec=0,30", "*/5 * * * *"},
		{map[string]string{"sec": "5", "day": "last", "year": "2027", "weeks": "2"}, "*/5 * * * * sec=5 day=last year=2027 weeks=2", "*/5 * * * *"},
		{map[string]string{"every": "7m", "day": "workday"}, "every=7m day=workday", "every=7m"},
		{map[string]string{"every": "7m"}, "every=7m", "every=7m"},
		{map[string]string{"every": "7m", "phase": "1m"}, "every=7m phase=1m", "every=7m phase=1m"},
		{map[string]string{"delay": "7m", "window": "08:00-18:00"}, "delay=7m window=08:00-18:00", "delay=7m"},
		{map[string]string{"at": "2026-03-01T08:00"}, "at=2026-03-01T08:00", "at=2026-03-01T08:00"},
		{map[string]string{"on": "job:etl", "every": "7m"}, "on=job:etl", "on=job:etl"},
		{map[string]string{"trigger": "manual"}, "by hand", "by hand"},
	} {
		j := Job{Schedule: "*/5 * * * *", Options: tc.options}
		got := j.StartsOn()
		if got != tc.want || FieldsOf(got) != tc.fields {
			t.Errorf("%v: got %q and fields %q, want %q and %q", tc.options, got, FieldsOf(got), tc.want, tc.fields)
		}
	}
}

func TestAfterEndIsShort(t *testing.T) {
	for _, startsOn := range []string{"delay=5m", "delay=5m window=08:00-18:00", "5m"} {
		if got := AfterEnd(startsOn); got != "end+5m" {
			t.Errorf("%s: got %q", startsOn, got)
		}
	}
}

func TestLengthOverASetBackClock(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for ended, want := range map[time.Time]time.Duration{noon.Add(time.Minute): time.Minute, noon.Add(-time.Hour): 0} {
		if got := (&Run{Started: noon, Ended: ended}).Length(); got != want {
			t.Errorf("to %s: got %v, want %v", ended, got, want)
		}
	}
}
