package timetable

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Coming returns the next n changes of the offset from an instant, or fewer if
// the following two years have fewer.
func (z *Zone) Coming(from time.Time, n int) []Change {
	changes := z.Changes(from, from.AddDate(2, 0, 0))
	return changes[:min(n, len(changes))]
}

// Forward reports whether the clock is set forward, so that local times are missing.
func (c Change) Forward() bool { return c.After > c.Before }

// Touches reports whether the fields spec of the schedule s match a local time that
// the change skips or repeats. A nil s is a schedule without a filter of the days.
func (c Change) Touches(spec string, s cron.Schedule) bool {
	plain := plainOf(spec, s)
	if plain == nil {
		return false
	}
	low, high := Wall(c.At, c.Before), Wall(c.At, c.After)
	if !c.Forward() {
		low, high = high, low
	}
	t := plain.Next(low.Add(-1))
	return !t.IsZero() && t.Before(high)
}

// Stretch is a period of time around a clock change.
type Stretch struct {
	Wall   time.Time // local time of its beginning, as a time in UTC
	End    time.Time // likewise
	At     time.Time // the instant of its beginning; if it is missing, of the change
	Abbrev string    // of the zone, then
	Pass   StretchPass

	Named []time.Time // local times in it that match the fields, as times in UTC
	Runs  []time.Time // occurrences in it, or those that replace its Named times
}

// StretchPass is the effect of a change on a stretch.
type StretchPass uint8

// The effects of a change.
const (
	Usual   StretchPass = iota
	Missing             // the clock never shows it
	First               // the clock shows it again afterwards
	Again               // the clock has shown it before
)

// Around divides the time around a change into stretches. Each lists the local
// times that match the fields spec, and the occurrences of the schedule s.
// Effect describes the same in words.
func (c Change) Around(spec string, s cron.Schedule) []Stretch {
	plain := plainOf(spec, s)
	length := c.span() / 2
	var all []Stretch
	add := func(from time.Duration, pass StretchPass) *Stretch {
		all = append(all, c.stretch(from, length, pass))
		return &all[len(all)-1]
	}
	if c.Forward() {
		add(-2*length, Usual)
		add(-length, Usual)
		gap := add(0, Missing)
		gap.Wall, gap.End, gap.Abbrev = Wall(c.At, c.Before), Wall(c.At, c.After), ""
		add(0, Usual)
		add(length, Usual)
	} else {
		add(-2*length, First)
		add(-length, First)
		add(0, Again)
		add(length, Again)
		add(2*length, Usual)
	}
	for i := range all {
		if plain != nil {
			all[i].Named = namedIn(plain, all[i].Wall, all[i].End)
		}
		if all[i].Pass != Missing {
			all[i].Runs = namedIn(s, all[i].At, all[i].At.Add(length))
		}
	}
	if c.Forward() && plain != nil {
		c.makeUp(&all[2], &all[3], s)
	}
	return all
}

// span returns the absolute amount of the change.
func (c Change) span() time.Duration {
	return (time.Duration(c.After-c.Before) * time.Second).Abs()
}

func (c Change) stretch(from, length time.Duration, pass StretchPass) Stretch {
	at, offset := c.At.Add(from), c.Before
	if from >= 0 {
		offset = c.After
	}
	st := Stretch{At: at, Wall: Wall(at, offset), Pass: pass}
	st.End = st.Wall.Add(length)
	st.Abbrev, _ = at.Zone()
	return st
}

// makeUp moves the run at the end of a gap to the gap whose times it catches up.
// If the fields match the end of the gap too, that run is listed there as well.
func (c Change) makeUp(gap, after *Stretch, s cron.Schedule) {
	if len(gap.Named) == 0 || !c.madeUp(s) {
		return
	}
	gap.Runs = []time.Time{c.At}
	if len(after.Named) == 0 || !after.Named[0].Equal(after.Wall) {
		after.Runs = after.Runs[1:]
	}
}

// madeUp reports whether s occurs at the end of the gap because of times in the
// gap.
func (c Change) madeUp(s cron.Schedule) bool {
	return PassesOf(s) != PassEach && s.Next(c.At.Add(-1)).Equal(c.At)
}
