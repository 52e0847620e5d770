package timetable

import "time"

// ParseLocal reads a time without a zone as the clocks in loc show it: the first of two if clocks go
// back, and the end of the gap if they go forward over it. At this time cron runs an entry with
// fixed times of day.
func ParseLocal(form, text string, loc *time.Location) (time.Time, error) {
	wall, err := time.Parse(form, text)
	if err != nil {
		return time.Time{}, err
	}
	return LocalTime(wall, loc), nil
}

// LocalTime returns the instant at which the clocks in loc show the date and time of day of wall.
func LocalTime(wall time.Time, loc *time.Location) time.Time {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	start, end := t.ZoneBounds()
	_, offset := t.Zone()
	shown := time.Unix(t.Unix()+int64(offset), int64(t.Nanosecond()))
	switch {
	case shown.After(wall) && !start.IsZero():
		return start
	case shown.Before(wall) && !end.IsZero():
		return end
	case start.IsZero():
		return t
	}
	_, before := start.Add(-1).Zone()
	if first := t.Add(time.Duration(offset-before) * time.Second); before > offset && first.Before(start) {
		return first
	}
	return t
}

// SecondPass returns when clocks in loc that go back show the time of an instant again, if they do.
func SecondPass(first time.Time, loc *time.Location) (again time.Time, twice bool) {
	_, end := first.In(loc).ZoneBounds()
	if end.IsZero() {
		return first, false
	}
	_, before := first.In(loc).Zone()
	_, after := end.Zone()
	again = first.Add(time.Duration(before-after) * time.Second)
	return again, !again.Before(end) && before > after
}
