package timetable

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Modifiers are the options that change a schedule. It is comparable, so that
// equal schedules can be found and shared.
type Modifiers struct {
	Every, Phase   time.Duration
	At             time.Time
	From, Until    time.Time
	Count          int
	Seconds        uint64
	Jitter, Spread time.Duration
	DST            DST
	Days           Days
	Hours          *Hours // nil: any time
	Wait           bool   // move what is outside of Hours
}

// Apply wraps the schedule of an entry's time fields, or replaces it.
func (m *Modifiers) Apply(fields *Schedule, seed uint64) cron.Schedule {
	var s cron.Schedule = fields.follow(m.DST).on(m.Days)
	switch {
	case !m.At.IsZero():
		s = At(m.At)
	case m.Every > 0:
		s = On(Every(m.Every, m.Phase), m.Days, fields.zone)
	}
	if m.Seconds != 0 && !m.ReplaceFields() {
		s = Seconds(s, m.Seconds)
	}
	if m.Hours != nil {
		s = Within(m.spread(s, seed), m.Hours, m.Wait)
	}
	if !m.From.IsZero() || !m.Until.IsZero() {
		s = Between(s, m.From, m.Until)
	}
	if m.Count > 0 {
		s = Count(s, m.From, m.Count)
	}
	if m.Hours == nil {
		s = m.spread(s, seed)
	}
	if m.Jitter > 0 {
		s = Jitter(s, m.Jitter, seed)
	}
	return s
}

// spread adds the delay of an entry, which is always the same: hours apply to the time after it.
func (m *Modifiers) spread(s cron.Schedule, seed uint64) cron.Schedule {
	if seconds := uint64(m.Spread / time.Second); seconds > 0 {
		return Spread(s, time.Duration(Mix(seed, "spread")%seconds)*time.Second)
	}
	return s
}

// ReplaceFields reports whether options replace an entry's time fields.
func (m *Modifiers) ReplaceFields() bool { return !m.At.IsZero() || m.Every > 0 }

// Random reports whether each entry needs a schedule of its own, because its delay is
// random.
func (m *Modifiers) Random() bool { return m.Jitter > 0 || m.Spread > 0 }

// ShortJitter returns the schedule without its jitter, the limit of the jitter
// and the shortest time between two occurrences, if the limit is less than the
// one of the modifiers, because occurrences are closer together.
func (m *Modifiers) ShortJitter(s cron.Schedule) (inner cron.Schedule, limit, apart time.Duration, ok bool) {
	delayed, ok := s.(*jitter)
	if !ok || delayed.limit == m.Jitter {
		return s, 0, 0, false
	}
	return delayed.inner, delayed.limit, Spacing(delayed.inner), true
}
