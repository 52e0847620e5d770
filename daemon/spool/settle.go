package spool

import "time"

// settling waits until nothing has happened for a quiet period, but never longer
// than a maximum: a package manager that unpacks for a minute must not starve
// the crontabs that it installed first.
type settling struct {
	quiet, most time.Duration
	first, last time.Time // zero when nothing is waiting
}

// touch records a change.
func (s *settling) touch(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	s.last = now
}

// due returns when to act; false if nothing is waiting. Changes within a minute are due in that
// minute, because a change before second 0 counts for the minute that begins there.
func (s *settling) due() (time.Time, bool) {
	if s.first.IsZero() {
		return time.Time{}, false
	}
	at := s.last.Add(s.quiet)
	if end := s.first.Add(s.most); end.Before(at) {
		at = end
	}
	if edge := beforeMinute(s.first); at.After(edge) && s.last.Before(edge) {
		at = edge
	}
	return at, true
}

// done ends the waiting.
func (s *settling) done() { s.first, s.last = time.Time{}, time.Time{} }

// lastMoment is the time before the minute at which a change still counts for it.
const lastMoment = 100 * time.Millisecond

func beforeMinute(t time.Time) time.Time { return t.Add(untilSecond(t, 60) - lastMoment) }

// untilSecond returns the time from t to the next time that the wall clock shows that second of a
// minute; never 0.
func untilSecond(t time.Time, second int) time.Duration {
	into := time.Duration(t.Unix()%60)*time.Second + time.Duration(t.Nanosecond())
	wait := time.Duration(second)*time.Second - into
	if wait <= 0 {
		wait += time.Minute
	}
	return wait
}
