package timetable

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// This file defines what a schedule means, slowly and plainly, and holds Next
// to it. Offsets come from Time.Zone at each minute, fields are lists of
// allowed values, and nothing is shared with the code under test.

// moment is one wall minute at one instant.
type moment struct {
	u     int64
	wall  time.Time // its clock and date, written in UTC
	real  bool      // the clock shows it: wildcard schedules match it, and those of dst=literal
	heard bool      // no other instant has its wall minute: fixed-time schedules match it
	last  bool      // the clock never comes to this minute again: those of dst=second match it
}

// markLast finds out which moments are the last of their wall minutes. Those of
// a gap are listed if no rule but this has them.
func markLast(loc *time.Location, list []moment, until int64) []moment {
	last := map[int64]int{} // wall minute to place in list
	for i := range list {
		last[list[i].wall.Unix()] = i
	}
	var gaps []moment
	if len(list) > 0 {
		for _, at := range bruteChanges(loc, list[0].u, until) {
			for wall := at + bruteOffset(loc, at-1); wall < at+bruteOffset(loc, at); wall++ {
				if i, ok := last[wall]; wall%60 == 0 && (!ok || list[i].u < at) {
					delete(last, wall)
					gaps = append(gaps, moment{u: at, wall: time.Unix(wall, 0).UTC(), last: true})
				}
			}
		}
	}
	for _, i := range last {
		list[i].last = true
	}
	list = append(list, gaps...)
	slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.u, b.u) })
	return list
}

// moments lists all wall minutes with instants in [from, until), which lie no
// more than a few days apart.
func moments(loc *time.Location, from, until int64) []moment {
	var list []moment
	heard := map[int64]bool{}
	hear := func(u, wall int64, real bool) {
		list = append(list, moment{u: u, wall: time.Unix(wall, 0).UTC(), real: real, heard: !heard[wall]})
		heard[wall] = true
	}
	offset := bruteOffset(loc, from)
	for u := from; u < until; {
		if now := bruteOffset(loc, u); now != offset {
			before, after := u+offset, u+now
			if gap := after - before; 0 < gap && gap <= 180*60 {
				for wall := before; wall < after; wall++ {
					if wall%60 == 0 && !heard[wall] {
						hear(u, wall, false)
					}
				}
			}
			if before-after >= 180*60 {
				clear(heard)
			}
			offset = now
		}
		if (u+offset)%60 != 0 {
			u++
			continue
		}
		hear(u, u+offset, true)
		if bruteOffset(loc, u+60) == offset {
			u += 60
		} else {
			u++
		}
	}
	return list
}

func bruteOffset(loc *time.Location, u int64) int64 {
	_, offset := time.Unix(u, 0).In(loc).Zone()
	return int64(offset)
}

// bruteChanges returns the seconds at which the offset changes.
func bruteChanges(loc *time.Location, from, until int64) []int64 {
	var changes []int64
	const step = 24 * 60 * 60 // no zone here changes twice in a day
	for u := from; u < until; u += step {
		offset := bruteOffset(loc, u)
		if offset == bruteOffset(loc, u+step) {
			continue
		}
		at := u
		for width := int64(step); width > 0; width /= 2 {
			for at+width <= u+step && bruteOffset(loc, at+width) == offset {
				at += width
			}
		}
		changes = append(changes, at+1)
	}
	return changes
}

// bruteField is a field as text and as the values that it allows.
type bruteField struct {
	text    string
	allowed [60]bool
}

type bruteSchedule [5]bruteField

func (s *bruteSchedule) spec() string {
	texts := make([]string, len(s))
	for i := range s {
		texts[i] = s[i].text
	}
	return strings.Join(texts, " ")
}

func (s *bruteSchedule) star(field int) bool { return s[field].text[0] == '*' }

func (s *bruteSchedule) matches(m *moment, d DST) bool {
	listens := m.heard
	switch {
	case d == DSTSecond:
		listens = m.last
	case d == DSTLiteral, s.star(0), s.star(1):
		listens = m.real
	}
	if !listens || !s[0].allowed[m.wall.Minute()] || !s[1].allowed[m.wall.Hour()] || !s[3].allowed[m.wall.Month()] {
		return false
	}
	day := s[2].allowed[m.wall.Day()]
	weekday := s[4].allowed[m.wall.Weekday()] || m.wall.Weekday() == time.Sunday && s[4].allowed[7]
	if s.star(2) || s.star(4) {
		return day && weekday
	}
	return day || weekday
}

// randomField makes a field of values from low to high, often with near.
func randomField(r *rand.Rand, low, high, near int) bruteField {
	var f bruteField
	allow := func(from, to, step int) {
		for v := from; v <= to; v += step {
			f.allowed[v] = true
		}
	}
	value := func() int {
		if near >= low && r.IntN(2) == 0 {
			return min(max(near+r.IntN(3)-1, low), high)
		}
		return low + r.IntN(high-low+1)
	}
	var items []string
	for range 1 + r.IntN(2)*r.IntN(3) {
		a, b, step := value(), value(), 1+r.IntN(high)
		a, b = min(a, b), max(a, b)
		switch r.IntN(6) {
		case 0:
			items = append(items, "*")
			allow(low, high, 1)
		case 1:
			items = append(items, fmt.Sprintf("*/%d", step))
			allow(low, high, step)
		case 2:
			items = append(items, fmt.Sprintf("%d-%d", a, b))
			allow(a, b, 1)
		case 3:
			items = append(items, fmt.Sprintf("%d-%d/%d", a, b, step))
			allow(a, b, step)
		default:
			items = append(items, strconv.Itoa(a))
			allow(a, a, 1)
		}
	}
	f.text = strings.Join(items, ",")
	return f
}

func starField(low, high int) bruteField {
	f := bruteField{text: "*"}
	for v := low; v <= high; v++ {
		f.allowed[v] = true
	}
	return f
}

// randomSchedule makes a schedule that is likely to name minutes near wall.
func randomSchedule(r *rand.Rand, wall time.Time) *bruteSchedule {
	s := &bruteSchedule{
		randomField(r, 0, 59, wall.Minute()),
		randomField(r, 0, 23, wall.Hour()),
		starField(1, 31), starField(1, 12), starField(0, 7),
	}
	if r.IntN(3) == 0 {
		s[2] = randomField(r, 1, 31, wall.Day())
	}
	if r.IntN(4) == 0 {
		s[3] = randomField(r, 1, 12, int(wall.Month()))
	}
	if r.IntN(3) == 0 {
		s[4] = randomField(r, 0, 7, int(wall.Weekday()))
	}
	return s
}

// bruteSettings are CRONRING_SEED=n, for another sample, and CRONRING_LONG=1,
// for all windows instead of a sample of the later ones.
func bruteSettings(t *testing.T) (seed uint64, long bool) {
	seed = 1
	if text := os.Getenv("CRONRING_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return seed, os.Getenv("CRONRING_LONG") != ""
}

var (
	year2041 = time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	year2200 = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

func TestNextEqualsBruteForce(t *testing.T) {
	seed, long := bruteSettings(t)
	for i, name := range zoneNames(t) {
		for _, form := range []string{"slim", "fat"} {
			t.Run(form+"/"+name, func(t *testing.T) {
				t.Parallel()
				loc := zoneFile(t, form, name)
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				z := NewZone(loc)
				for _, at := range bruteChanges(loc, 0, year2200) {
					if at < year2041 && !testing.Short() || long || r.IntN(16) == 0 {
						checkWindow(t, r, z, at-6*3600, at+30*3600, at)
					}
				}
				windows := 40
				if long {
					windows = 2000
				}
				for range windows {
					at := r.Int64N(year2200 - 24*3600)
					checkWindow(t, r, z, at, at+24*3600, at)
				}
			})
		}
	}
}

// checkWindow compares Next with the definition for some schedules that are
// likely to name minutes near the instant near.
func checkWindow(t *testing.T, r *rand.Rand, z *Zone, from, until, near int64) {
	t.Helper()
	seed, _ := bruteSettings(t)
	const margin = 6 * 3600 // a repeat may have begun before the window, and may follow it
	all := markLast(z.Location(), moments(z.Location(), from-margin, until+margin), until+margin)
	for i := range 8 {
		b := randomSchedule(r, time.Unix(near+int64(r.IntN(3)-1)*3600, 0).In(z.Location()))
		rule := [...]DST{DSTCron, DSTLiteral, DSTCron, DSTSecond}[i%4]
		s := mustSchedule(t, b.spec(), z).follow(rule)
		var want []int64
		for i := range all {
			m := &all[i]
			if m.u >= from && m.u < until && b.matches(m, rule) && (len(want) == 0 || want[len(want)-1] != m.u) {
				want = append(want, m.u)
			}
		}
		var got []int64
		for at := s.Next(time.Unix(from-1, 0)); !at.IsZero() && at.Unix() < until; at = s.Next(at) {
			got = append(got, at.Unix())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q dst=%s in %s from %s (CRONRING_SEED=%d):\n got %v\nwant %v", b.spec(), rule, z,
				time.Unix(from, 0).UTC().Format(time.RFC3339), seed, instants(got), instants(want))
		}
	}
}

func instants(list []int64) string {
	texts := make([]string, 0, len(list))
	for _, u := range list {
		texts = append(texts, time.Unix(u, 0).UTC().Format("02T15:04:05"))
	}
	return strings.Join(texts, " ")
}

// TestNextEqualsBruteForceOnDates walks whole days, so that rare dates are
// reached: a schedule at noon is held to the dates of 30 years.
func TestNextEqualsBruteForceOnDates(t *testing.T) {
	seed, _ := bruteSettings(t)
	r := rand.New(rand.NewPCG(seed, 1))
	z := NewZone(nil)
	for range 300 {
		b := &bruteSchedule{
			{text: "0"}, {text: "12"},
			randomField(r, 1, 31, -1), randomField(r, 1, 12, -1), randomField(r, 0, 7, -1),
		}
		b[0].allowed[0], b[1].allowed[12] = true, true
		s := mustSchedule(t, b.spec(), z)
		start := time.Date(1970+r.IntN(200), time.Month(1+r.IntN(12)), 1, 12, 0, 0, 0, time.UTC)
		next := s.Next(start.Add(-1))
		for day := start; day.Before(start.AddDate(30, 0, 0)); day = day.AddDate(0, 0, 1) {
			if !b.matches(&moment{wall: day, real: true, heard: true}, DSTCron) {
				continue
			}
			if !next.Equal(day) {
				t.Fatalf("%q: got %s, want %s (CRONRING_SEED=%d)", b.spec(), next, day, seed)
			}
			next = s.Next(next)
		}
	}
}

func TestNextOnLeapDays(t *testing.T) {
	for _, test := range []struct{ spec, after, want string }{
		{"0 0 29 2 */7", "2032-02-29 00:00", "2060-02-29 00:00"},
		{"0 0 29 2 */7", "2088-02-29 00:00", "2128-02-29 00:00"},
		{"0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00"},
		{"0 0 29 2 *", "1999-12-31 00:00", "2000-02-29 00:00"},
	} {
		for name, loc := range zoneFiles(t, "America/New_York") {
			s := mustSchedule(t, test.spec, NewZone(loc))
			after, want := utc(t, test.after), utc(t, test.want)
			got := s.Next(after.Add(5 * time.Hour)) // New York's midnight
			if !got.Equal(want.Add(5 * time.Hour)) {
				t.Errorf("%q (%s) after %s: got %s, want %s", test.spec, name, after, got, want)
			}
		}
	}
}
