package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// modifiers are the options that change a schedule. It is comparable, so that
// equal schedules can be found and shared.
type modifiers struct {
	every, phase   time.Duration
	at             time.Time
	from, until    time.Time
	count          int
	seconds        uint64
	jitter, spread time.Duration
	dst            DST
}

// apply wraps the schedule of an entry's time fields, or replaces it.
func (m *modifiers) apply(fields *Schedule, seed uint64) cron.Schedule {
	var s cron.Schedule = fields.follow(m.dst)
	switch {
	case !m.at.IsZero():
		s = At(m.at)
	case m.every > 0:
		s = Every(m.every, m.phase)
	case m.seconds != 0:
		s = Seconds(s, m.seconds)
	}
	if !m.from.IsZero() || !m.until.IsZero() {
		s = Between(s, m.from, m.until)
	}
	if m.count > 0 {
		s = Count(s, m.from, m.count)
	}
	if seconds := uint64(m.spread / time.Second); seconds > 0 {
		s = Spread(s, time.Duration(mix(seed, "spread")%seconds)*time.Second)
	}
	if m.jitter > 0 {
		s = Jitter(s, m.jitter, seed)
	}
	return s
}

// replaceFields reports whether options replace an entry's time fields.
func (m *modifiers) replaceFields() bool { return !m.at.IsZero() || m.every > 0 }

// own reports whether each entry needs a schedule of its own, because its delay is
// random.
func (m *modifiers) own() bool { return m.jitter > 0 || m.spread > 0 }

// shortJitter returns the schedule without its jitter, the limit of the jitter
// and the shortest time between two occurrences, if the limit is less than the
// one of the modifiers, because occurrences are closer together.
func (m *modifiers) shortJitter(s cron.Schedule) (inner cron.Schedule, limit, apart time.Duration, ok bool) {
	delayed, ok := s.(*jitter)
	if !ok || delayed.limit == m.jitter {
		return s, 0, 0, false
	}
	return delayed.inner, delayed.limit, spacing(delayed.inner), true
}
