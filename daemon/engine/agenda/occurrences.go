package agenda

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Limits of the work after a long absence. The newest keepMissed occurrences of a
// schedule are listed, unless they are older than lookBack. Older ones are skipped
// together, and their count may be too low. Of the listed ones, the newest
// timetable.MaxMissed at most are on time, however long grace= is.
const (
	lookBack   = 366 * 24 * time.Hour
	keepMissed = 10_000
)

// Occurrences are the due times of one schedule that wait for a decision.
type Occurrences struct {
	First time.Time   // the oldest, as far as it is known
	Older int         // number of occurrences before list[0], at least
	List  []time.Time // the newest, in order
	asked int         // how often the schedule was called
}

// Between lists the occurrences of s after mark, up to now.
func Between(s cron.Schedule, mark, now time.Time) Occurrences {
	o := Occurrences{asked: 1}
	first := Next(s, mark)
	if first.IsZero() || first.After(now) {
		return o
	}
	o.First = first.UTC()
	from := first.Add(-1)
	if horizon := now.Add(-lookBack); from.Before(horizon) {
		o.Older, from = 1, horizon
	}
	all := o.walk(s, from, now)
	if all {
		return o
	}
	// There are too many to walk over. Find a range up to now that contains between one
	// and two times keepMissed of them.
	known, low, high := len(o.List), from, now
	middle := now.Add(o.List[0].Sub(o.Last()) * 3 / 4) // right if they are evenly spread
	for high.Sub(low) > time.Second {
		switch all = o.walk(s, middle, now); {
		case !all:
			low = middle
		case len(o.List) < keepMissed:
			high = middle
		default:
			low = high
		}
		middle = low.Add(high.Sub(low) / 2)
	}
	if !all {
		o.walk(s, high, now)
	}
	o.Older = max(1, known-len(o.List))
	return o
}

// walk lists the occurrences of s after from, up to now. It stops at twice keepMissed
// occurrences and then reports false.
func (o *Occurrences) walk(s cron.Schedule, from, now time.Time) (all bool) {
	o.List = o.List[:0]
	for t := Next(s, from); !t.IsZero() && !t.After(now); t = Next(s, t) {
		if len(o.List) == 2*keepMissed {
			o.asked += len(o.List)
			return false
		}
		o.List = append(o.List, t.UTC())
	}
	o.asked += len(o.List)
	return true
}

// Empty reports whether no occurrence waits.
func (o Occurrences) Empty() bool { return len(o.List) == 0 && o.Older == 0 }

// Last is the newest occurrence.
func (o Occurrences) Last() time.Time {
	if len(o.List) == 0 {
		return o.First
	}
	return o.List[len(o.List)-1]
}

// Lookup caches the last result of Between: jobs with the same schedule
// usually have the same mark.
type Lookup struct {
	schedule cron.Schedule
	mark     int64
	until    time.Time
	found    Occurrences
	Asked    int // how often schedules were called
}

// Between is the function Between, for a mark in Unix nanoseconds.
func (l *Lookup) Between(s cron.Schedule, mark int64, until time.Time) Occurrences {
	if l.schedule != s || l.mark != mark || !l.until.Equal(until) {
		l.schedule, l.mark, l.until = s, mark, until
		l.found = Between(s, time.Unix(0, mark).UTC(), until)
		l.Asked += l.found.asked
	}
	return l.found
}
