package timetable

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// FuzzParseSchedule checks the guarantees of ParseSchedule for any spec that it accepts.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range benchSpecs {
		f.Add(spec, uint64(1))
	}
	for _, spec := range []string{"@daily", "@reboot", "@every 5m", "0 22-2 * * 6-0", "~ 0~5,7~ */0 L ?", "1#2 *5 ** 5-10/2/3 mon/2",
		"0 0 1 jan-jna sept", "30~0 * * * *", "4294967301 * * * *", "\x00 \xff \x7f é *", "5/\x01 * * * *", "*/-\x02 * * * *"} {
		f.Add(spec, uint64(2))
	}
	newYork := NewZone(zoneFile(f, "slim", "America/New_York"))
	f.Fuzz(func(t *testing.T, spec string, seed uint64) {
		s, diagnostics := ParseSchedule(spec, newYork, seed)
		refused := false
		for _, r := range diagnostics {
			refused = refused || r.Severity == diagnostic.Error
			if r.Column < 1 || r.Length < 1 || r.Column-1+r.Length > len(spec)+1 {
				t.Errorf("%q: %s is about bytes outside: column %d, length %d", spec, r.Code, r.Column, r.Length)
			}
			if r.Code.Meaning() == "" || r.Message == "" {
				t.Errorf("%q: code %q is not listed, or says nothing", spec, r.Code)
			}
			if strings.ContainsFunc(r.Message+r.Fix, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("%q: %q, %q cannot be shown in a terminal", spec, r.Message, r.Fix)
			}
		}
		if refused != (s == nil) {
			t.Fatalf("%q: got schedule %v with %v", spec, s, diagnostics)
		}
		if s == nil {
			return
		}
		if again, _ := ParseSchedule(spec, newYork, seed); again.FieldSet != s.FieldSet {
			t.Errorf("%q: read twice, names %+v and %+v", spec, s.FieldSet, again.FieldSet)
		}
		next := s.Next(benchStart)
		if s.Never() != (Describe(s) == "never") || s.Never() && !next.IsZero() {
			t.Errorf("%q: never %v, described as %q, next %s", spec, s.Never(), Describe(s), next)
		}
		if !next.IsZero() && !next.After(benchStart) {
			t.Errorf("%q: next %s is not after %s", spec, next, benchStart)
		}
	})
}

// FuzzNext compares any masks, at any time, with the definition.
func FuzzNext(f *testing.F) {
	f.Add(uint64(1), uint32(1<<2), uint32(allDays), uint16(allMonths), uint8(allWeekdays), uint8(0), uint8(0), int64(1772953200))
	f.Add(uint64(1<<30), uint32(1<<1), uint32(allDays), uint16(allMonths), uint8(allWeekdays), uint8(2<<2), uint8(1), int64(1793500000))
	f.Add(uint64(1<<30), uint32(1<<2), uint32(allDays), uint16(allMonths), uint8(allWeekdays), uint8(1<<2), uint8(2), int64(1772950000))
	f.Add(uint64(1<<20|1<<40), uint32(1<<1), uint32(2), uint16(1<<3), uint8(3), uint8(3), uint8(3), int64(1793509200))
	f.Add(uint64(1), uint32(1), uint32(1<<29), uint16(1<<2), uint8(1), uint8(2), uint8(9), int64(4e9))
	var zones []*Zone
	for _, name := range zoneNames(f) {
		zones = append(zones, NewZone(zoneFile(f, "slim", name)))
	}
	f.Fuzz(func(t *testing.T, minute uint64, hour, day uint32, month uint16, weekday, flags, zone uint8, from int64) {
		set := FieldSet{minute & (1<<60 - 1), hour & (1<<24 - 1), day & allDays, month & allMonths, weekday & allWeekdays, fieldFlags(flags) & 3}
		rule := DST(flags >> 2 % 3)
		s := set.Schedule("fuzz", zones[int(zone)%len(zones)]).follow(rule)
		at := time.Unix(from, 0)
		next := s.Next(at)
		if !next.IsZero() && !next.After(at) {
			t.Fatalf("%+v in %s: next %s is not after %s", set, s.zone, next, at)
		}
		if !next.IsZero() && from > firstSecond && !s.Next(next.Add(-1)).Equal(next) {
			t.Fatalf("%+v in %s: %s is not found again from just before", set, s.zone, next)
		}
		if from < 0 || from > lastSecond-1e6 {
			return // the definition reads the zone's offsets, the table begins in 1970
		}
		const window, margin = 30 * 3600, 6 * 3600
		loc := s.zone.Location()
		var want []int64
		for _, m := range markLast(loc, moments(loc, from-margin, from+window+margin), from+window+margin) {
			if m.u > from && m.u < from+window && named(&set, &m, rule) && (len(want) == 0 || want[len(want)-1] != m.u) {
				want = append(want, m.u)
			}
		}
		var got []int64
		for ; !next.IsZero() && next.Unix() < from+window; next = s.Next(next) {
			got = append(got, next.Unix())
		}
		if from >= margin && !slices.Equal(got, want) {
			t.Fatalf("%+v dst=%s in %s after %d:\n got %s\nwant %s", set, rule, s.zone, from, instants(got), instants(want))
		}
	})
}

// named is the definition for masks.
func named(set *FieldSet, m *moment, rule DST) bool {
	listens := m.heard
	switch {
	case rule == DSTSecond:
		listens = m.last
	case rule == DSTLiteral, set.flags&fieldWildcard != 0:
		listens = m.real
	}
	if !listens {
		return false
	}
	day, weekday := set.day>>m.wall.Day()&1 != 0, set.weekday>>m.wall.Weekday()&1 != 0
	byDate := day || weekday
	if set.flags&fieldBothDays != 0 {
		byDate = day && weekday
	}
	return byDate && set.minute>>m.wall.Minute()&1 != 0 && set.hour>>m.wall.Hour()&1 != 0 && set.month>>m.wall.Month()&1 != 0
}
