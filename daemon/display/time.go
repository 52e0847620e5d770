package display

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Brief formats a duration in about six cells: 7ms, 12.4s, 49s, 2m49s, 9h14m, 6d05h.
func Brief(d time.Duration) string { return string(AppendBrief(nil, d)) }

// AppendBrief appends the text of Brief.
func AppendBrief(b []byte, d time.Duration) []byte {
	switch {
	case d < 0:
		return AppendBrief(append(b, '-'), -max(d, -math.MaxInt64)) // the least length has no opposite
	case d == 0:
		return append(b, "0s"...)
	case d < 100*time.Millisecond:
		return append(strconv.AppendInt(b, max(d.Milliseconds(), 1), 10), "ms"...)
	case d < time.Minute-50*time.Millisecond && d%time.Second != 0:
		return append(strconv.AppendFloat(b, d.Seconds(), 'f', 1, 64), 's')
	}
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return append(strconv.AppendInt(b, s, 10), 's')
	case s < 3600:
		return appendPair(b, s/60, 'm', s%60, 's')
	case s < 86400:
		return appendPair(b, s/3600, 'h', s/60%60, 'm')
	}
	return appendPair(b, s/86400, 'd', s/3600%24, 'h')
}

func appendPair(b []byte, n int64, unit byte, rest int64, restUnit byte) []byte {
	b = append(strconv.AppendInt(b, n, 10), unit)
	return append(b, byte('0'+rest/10), byte('0'+rest%10), restUnit)
}

// Away formats the time until t in whole seconds: "2m49s"; "due" if t has passed, "-" for
// the zero time.
func Away(t, now time.Time) string { return string(AppendAway(nil, t, now)) }

// AppendAway appends the text of Away.
func AppendAway(b []byte, t, now time.Time) []byte {
	d := t.Sub(now).Round(time.Second)
	switch {
	case t.IsZero():
		return append(b, '-')
	case d <= 0:
		return append(b, "due"...)
	}
	return AppendBrief(b, d)
}

// Ago formats the time since t in whole seconds: "2m11s"; "now" if t has not passed,
// "never" for the zero time.
func Ago(t, now time.Time) string { return string(AppendAgo(nil, t, now)) }

// AppendAgo appends the text of Ago.
func AppendAgo(b []byte, t, now time.Time) []byte {
	d := now.Sub(t).Round(time.Second)
	switch {
	case t.IsZero():
		return append(b, "never"...)
	case d <= 0:
		return append(b, "now"...)
	}
	return AppendBrief(b, d)
}

// Clock is how times of the day are written. The zero value is Clock24.
type Clock uint8

// The clocks: 18:05 and 6:05pm.
const (
	Clock24 Clock = iota
	Clock12
)

// Layout returns the layout of a time whose hours are 24 as this clock writes it.
func (c Clock) Layout(layout string) string {
	if c == Clock24 {
		return layout
	}
	return twelve.Replace(layout)
}

var twelve = strings.NewReplacer("15:04:05", "3:04:05pm", "15:04", "3:04pm", "15", "3pm")

// PointWidth returns the most cells that AppendPoint takes.
func (c Clock) PointWidth() int {
	if c == Clock12 {
		return len("Mon 12:05pm")
	}
	return PointWidth
}

// PointWidth is the most cells that AppendPoint takes with Clock24.
const PointWidth = 9

// AppendPoint appends a time in its own zone in at most PointWidth cells: "18:05:00" on the day
// of now, "Mon 18:05" within six days of it, "28 Mar 27" otherwise.
func (c Clock) AppendPoint(b []byte, t, now time.Time) []byte {
	switch days(t, now) {
	case 0:
		return t.AppendFormat(b, c.Layout("15:04:05"))
	case near:
		return t.AppendFormat(b, c.Layout("Mon 15:04"))
	}
	return t.AppendFormat(b, "2 Jan 06")
}

// AppendDated appends a time in its own zone like AppendPoint, also with the time of a day further
// away: "28 Mar 05:00" within half a year, "1 Jul 27 05:00" otherwise.
func (c Clock) AppendDated(b []byte, t, now time.Time) []byte {
	switch {
	case days(t, now) <= near:
		return c.AppendPoint(b, t, now)
	case t.Sub(now).Abs() < halfYear:
		return t.AppendFormat(b, c.Layout("2 Jan 15:04"))
	}
	return t.AppendFormat(b, c.Layout("2 Jan 06 15:04"))
}

const halfYear = 183 * 24 * time.Hour

// AppendHour appends an instant, in its own zone, in at most eight cells, to the
// hour: "18:05" on the day of now, "Mon 09" within six days of it, "13 Aug" within
// half a year, "2027" further off.
func (c Clock) AppendHour(b []byte, t, now time.Time) []byte {
	switch days(t, now) {
	case 0:
		return t.AppendFormat(b, c.Layout("15:04"))
	case near:
		return t.AppendFormat(b, c.Layout("Mon 15"))
	}
	if t.Sub(now).Abs() < halfYear {
		return t.AppendFormat(b, "2 Jan")
	}
	return t.AppendFormat(b, "2006")
}

// near is the result of days for a day whose name identifies it among the days around now.
const near = 1

// days is 0 on the same day, in the zone of t, near within six days, and 2 beyond.
func days(t, now time.Time) int {
	now = now.In(t.Location())
	y, m, d := t.Date()
	year, month, day := now.Date()
	away := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Sub(time.Date(year, month, day, 0, 0, 0, 0, time.UTC)).Abs()
	switch {
	case away == 0:
		return 0
	case away <= 6*24*time.Hour:
		return near
	}
	return 2
}

// Stamp formats a time in its own zone in full: "Fri 20 Nov 02:30:00 CET", with the year
// if it is not that of now.
func (c Clock) Stamp(t, now time.Time) string {
	if t.Year() == now.In(t.Location()).Year() {
		return t.Format(c.Layout("Mon 2 Jan 15:04:05 MST"))
	}
	return t.Format(c.Layout("Mon 2 Jan 2006 15:04:05 MST"))
}
