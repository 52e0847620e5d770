package timetable

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Hours are times of the week at which runs may start, as the clock of a zone
// shows them: also in a repeated hour, and never in a gap. They do not change
// after they were made.
type Hours struct {
	text string
	zone *Zone
	// edges are minutes of the week, from Monday 00:00, in order: the first of
	// each two begins an open time, and the second ends it.
	edges []uint16
}

// Spans is a list of times of the week, as an option names it.
type Spans struct {
	text    string
	minutes weekMinutes
}

// weekMinutes has a bit for each minute of a week, from Monday 00:00.
type weekMinutes [(minutesPerWeek + 63) / 64]uint64

const (
	minutesPerWeek = 7 * minutesPerDay

	// mostSpans is the highest number of times in one list.
	mostSpans = 50
)

// ParseSpans reads times with commas between: 08:00-18:00, mon-fri/08:00-18:00,
// fri/22:00-06:00. A time that ends before it begins ends on the next day.
func ParseSpans(text string) (*Spans, error) {
	spans := strings.Split(text, ",")
	if len(spans) > mostSpans {
		return nil, fmt.Errorf("more than %d times", mostSpans)
	}
	s := &Spans{text: text}
	for _, span := range spans {
		if !s.minutes.add(strings.ToLower(span)) {
			return nil, fmt.Errorf("%q is not a time such as 08:00-18:00 or mon-fri/08:00-18:00", span)
		}
	}
	return s, nil
}

// add adds an span in lower case.
func (s *weekMinutes) add(span string) bool {
	first, last := 0, 6
	if days, times, found := strings.Cut(span, "/"); found {
		from, to, ranged := strings.Cut(days, "-")
		if !ranged {
			to = from
		}
		first, last = dayOfWeek(from), dayOfWeek(to)
		if first < 0 || last < 0 {
			return false
		}
		span = times
	}
	from, to, _ := strings.Cut(span, "-")
	begin, ok := minuteOfDay(from)
	end, also := minuteOfDay(to)
	if !ok || !also || begin == end || begin == minutesPerDay {
		return false
	}
	if end < begin {
		end += minutesPerDay
	}
	for day := first; ; day = (day + 1) % 7 {
		from, to := day*minutesPerDay+begin, day*minutesPerDay+end
		s.fill(from, min(to, minutesPerWeek))
		s.fill(0, to-minutesPerWeek)
		if day == last {
			return true
		}
	}
}

// fill adds the minutes from low to high, without high.
func (s *weekMinutes) fill(low, high int) {
	for low < high {
		n := min(64-low%64, high-low)
		s[low/64] |= (1<<n - 1) << (low % 64)
		low += n
	}
}

// dayOfWeek reads mon to sun as 0 to 6, or returns -1.
func dayOfWeek(day string) int {
	return slices.Index([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, day)
}

// minuteOfDay reads HH:MM from 00:00 to 24:00.
func minuteOfDay(text string) (minute int, ok bool) {
	if text == "24:00" {
		return minutesPerDay, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil && len(text) == len("15:04")
}

// NewHours returns the times of window, or all times if it is nil, without those
// of blackout, or all of them if it is nil.
func NewHours(window, blackout *Spans, zone *Zone) *Hours {
	h := &Hours{zone: zone}
	var allowed, forbidden weekMinutes
	if window != nil {
		h.text, allowed = " window="+window.text, window.minutes
	} else {
		allowed.fill(0, minutesPerWeek)
	}
	if blackout != nil {
		h.text, forbidden = h.text+" blackout="+blackout.text, blackout.minutes
	}
	before := uint64(0) // 1: the minute before is open
	for i := range allowed {
		open := allowed[i] &^ forbidden[i]
		for changes := open ^ (open<<1 | before); changes != 0; changes &= changes - 1 {
			h.edges = append(h.edges, uint16(i*64+bits.TrailingZeros64(changes)))
		}
		before = open >> 63
	}
	h.edges = slices.Clip(h.edges) // the week ends within the last word, so the last time has its end
	return h
}

// Never reports whether h has no time.
func (h *Hours) Never() bool { return len(h.edges) == 0 }

// String returns h as options, each with a blank before it.
func (h *Hours) String() string { return h.text }

// Words returns window= with the word within before it, and blackout= with outside, joined by join
// if h has both.
func (h *Hours) Words(within, join, outside string) string {
	window, blackout, has := strings.Cut(h.text, " blackout=")
	switch {
	case !has:
		return within + window
	case window == "":
		return outside + " blackout=" + blackout
	}
	return within + window + " " + join + " " + outside + " blackout=" + blackout
}

// Zone returns the zone whose clock counts.
func (h *Hours) Zone() *Zone { return h.zone }

// Include reports whether t is one of the times.
func (h *Hours) Include(t time.Time) bool { return h.Opens(t).Equal(t) }

// Opens returns t if h includes it, else the next instant that it includes; the
// zero Time if there is none up to LastYear.
func (h *Hours) Opens(t time.Time) time.Time {
	if h.Never() {
		return time.Time{}
	}
	z, from := h.zone, t.Unix()
	for i := z.find(from); i < len(z.spans)-1; i++ {
		offset := int64(z.spans[i].offset)
		start := max(from, z.spans[i].start)
		at := h.opensOnClock(start+offset) - offset
		switch {
		case at >= z.spans[i+1].start: // the clock is changed before
		case at == from:
			return t
		case at > lastSecond:
			return time.Time{}
		default:
			return time.Unix(at, 0).In(t.Location())
		}
	}
	return time.Time{}
}

// opensOnClock is Opens for a clock that is never changed, in local seconds.
func (h *Hours) opensOnClock(wall int64) int64 {
	week, second := h.week(wall)
	for i := 0; i < len(h.edges); i += 2 {
		if second < int64(h.edges[i+1])*60 {
			return week + max(second, int64(h.edges[i])*60)
		}
	}
	return week + (minutesPerWeek+int64(h.edges[0]))*60
}

// week returns the beginning of the week of a local second, and the seconds since.
func (h *Hours) week(wall int64) (begin, second int64) {
	const monday, week = 4 * secondsPerDay, minutesPerWeek * 60 // 1970-01-05 was a Monday
	second = ((wall-monday)%week + week) % week
	return wall - second, second
}

// closedSince returns the beginning of the time without an instant of h that t is in.
func (h *Hours) closedSince(t time.Time) time.Time {
	z, since := h.zone, t.Unix()
	for i := z.find(since); ; i-- {
		offset := int64(z.spans[i].offset)
		closed := h.closedOnClock(since+offset) - offset
		if i == 0 || closed > z.spans[i].start {
			return time.Unix(closed, 0)
		}
		since = z.spans[i].start
		if h.Include(time.Unix(since-1, 0)) {
			return time.Unix(since, 0)
		}
		since--
	}
}

// closedOnClock is closedSince for a clock that is never changed, in local seconds.
func (h *Hours) closedOnClock(wall int64) int64 {
	week, second := h.week(wall)
	for i := len(h.edges) - 1; i > 0; i -= 2 {
		if end := int64(h.edges[i]) * 60; end <= second {
			return week + end
		}
	}
	return week - (minutesPerWeek-int64(h.edges[len(h.edges)-1]))*60
}

// inverse returns all times that h does not include.
func (h *Hours) inverse() *Hours {
	edges := append([]uint16{0}, h.edges...)
	edges = append(edges, minutesPerWeek)
	if len(edges) > 2 && edges[1] == 0 {
		edges = edges[2:]
	}
	if n := len(edges); n > 2 && edges[n-2] == minutesPerWeek {
		edges = edges[:n-2]
	}
	return &Hours{zone: h.zone, edges: edges}
}

// Within keeps the occurrences of s at the times of h. With wait, it moves the
// others to the next of these times, and those that are moved to the same time
// become one.
func Within(s cron.Schedule, h *Hours, wait bool) cron.Schedule {
	w := &within{inner: s, hours: h, wait: wait}
	w.never = h.Never() || !wait && w.isRare()
	return w
}

type within struct {
	inner cron.Schedule
	hours *Hours
	wait  bool
	never bool
}

// The most occurrences outside of the hours in a row. Next calls the inner schedule
// once for each of them and each closed time, so that a user could make it slow.
const (
	mostOutside      = 2_000
	mostOutsideFirst = 400 // of a new schedule: it is rejected
)

func (w *within) Next(t time.Time) time.Time {
	if w.never {
		return time.Time{}
	}
	if !w.wait {
		next, _ := w.search(t, mostOutside)
		return next
	}
	from := t
	if !w.hours.Include(t) { // what is between the end of the last time and t moves to after t
		from = w.hours.closedSince(t).Add(-time.Nanosecond).In(t.Location())
	}
	next := w.inner.Next(from)
	if next.IsZero() {
		return next
	}
	return w.hours.Opens(next)
}

// search returns the next occurrence at the times of the hours. found is false if
// most occurrences in a row are outside of them.
func (w *within) search(t time.Time, most int) (next time.Time, found bool) {
	for range most {
		next = w.inner.Next(t)
		if next.IsZero() {
			return next, true
		}
		opens := w.hours.Opens(next)
		if opens.IsZero() || opens.Equal(next) {
			return opens, true
		}
		t = opens.Add(-time.Nanosecond)
	}
	return time.Time{}, false
}

// isRare reports whether hardly any occurrence is at the times of the hours.
func (w *within) isRare() bool {
	first := w.inner.Next(time.Unix(0, 0))
	if first.IsZero() {
		return false
	}
	next, found := w.search(first.Add(-time.Nanosecond), mostOutsideFirst)
	return !found || next.IsZero()
}

func (w *within) Unwrap() cron.Schedule { return w.inner }
func (w *within) Zone() *Zone           { return w.hours.zone }

func (w *within) String() string {
	if w.wait {
		return fmt.Sprintf("%v%s outside=wait", w.inner, w.hours)
	}
	return fmt.Sprintf("%v%s", w.inner, w.hours)
}

func (w *within) describe() string {
	if w.wait {
		return Describe(w.inner) + ", moved " + w.hours.Words("into", "and", "out of")
	}
	return Describe(w.inner) + ", only " + w.hours.Words("within", "and", "outside of")
}

// countBetween counts the occurrences after after and before end.
func (w *within) countBetween(after, end time.Time) (n int) {
	closed := w.hours.inverse()
	for first := w.Next(after); !first.IsZero() && first.Before(end); first = w.Next(after) {
		closes := end
		if !closed.Never() {
			if at := closed.Opens(first); !at.IsZero() && at.Before(end) {
				closes = at
			}
		}
		n += 1 + countBetween(w.inner, first, closes)
		after = closes.Add(-time.Nanosecond)
	}
	return n
}

// HoursOf returns the hours of s, or of the schedule that it wraps, and whether the
// occurrences outside of them are moved; nil if it has none.
func HoursOf(s cron.Schedule) (h *Hours, moved bool) {
	if w := withinOf(s); w != nil {
		return w.hours, w.wait
	}
	return nil, false
}

// OutsideHours returns the hours of s, or of the schedule that it wraps, if no
// occurrence, or hardly any, is within them; else nil.
func OutsideHours(s cron.Schedule) *Hours {
	if w := withinOf(s); w != nil && w.never {
		return w.hours
	}
	return nil
}

// withinOf returns the part of s that limits it to hours, or nil.
func withinOf(s cron.Schedule) *within {
	for at := range layers(s) {
		if w, ok := at.(*within); ok {
			return w
		}
	}
	return nil
}

// Blackout is a time when a host starts no jobs: on certain hours of the week,
// from one instant until another, or both.
type Blackout struct {
	Name    string
	Reason  string // for people
	Allowed *Hours // times outside of it; nil: none
	From    time.Time
	Until   time.Time // zero: no end
}

// Ends returns t if it is not in b, else the end of b; the zero Time if it has none.
func (b *Blackout) Ends(t time.Time) time.Time {
	if t.Before(b.From) || !b.Until.IsZero() && !t.Before(b.Until) {
		return t
	}
	if b.Allowed == nil {
		return b.Until
	}
	ends := b.Allowed.Opens(t)
	if !b.Until.IsZero() && (ends.IsZero() || b.Until.Before(ends)) {
		return b.Until
	}
	return ends
}

// String returns the name and the reason.
func (b *Blackout) String() string {
	if b.Reason == "" {
		return "blackout." + b.Name
	}
	return "blackout." + b.Name + ": " + b.Reason
}

// Blackouts are those of a host.
type Blackouts []Blackout

// maxSearchSteps limits the search for a time that hours and all blackouts allow.
const maxSearchSteps = 1000

// Opens returns t if it is in hours, where nil means any time, and in no blackout;
// else the next such instant, and the blackout or hours that t is against. It is the
// zero Time if there is none.
func (all Blackouts) Opens(hours *Hours, t time.Time) (opens time.Time, against string) {
	opens = t
	for range maxSearchSteps {
		before := opens
		for i := range all {
			if ends := all[i].Ends(opens); !ends.Equal(opens) {
				if opens = ends; against == "" {
					against = all[i].String()
				}
			}
			if opens.IsZero() {
				return opens, against
			}
		}
		if hours != nil {
			if next := hours.Opens(opens); !next.Equal(opens) {
				if opens = next; against == "" {
					against = hours.String()[1:]
				}
			}
		}
		if opens.Equal(before) || opens.IsZero() {
			return opens, against
		}
	}
	return time.Time{}, against
}
