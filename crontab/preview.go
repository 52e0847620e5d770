package crontab

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Coming lists the next n changes of offset from an instant on, or fewer if
// there are not so many in the two years after it.
func (z *Zone) Coming(from time.Time, n int) []Change {
	changes := z.Changes(from, from.AddDate(2, 0, 0))
	return changes[:min(n, len(changes))]
}

// Forward tells that the clock is put forward, so that wall times are missing.
func (c Change) Forward() bool { return c.After > c.Before }

// Touches reports whether the fields of a schedule, written as spec, name a wall
// time that the change leaves out or shows twice.
func (c Change) Touches(spec string) bool {
	plain, _ := ParseSchedule(spec, nil, 0)
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

// Stretch is a piece of time around a change of a clock.
type Stretch struct {
	Wall   time.Time // its beginning as the clock shows it, written as if it were UTC
	End    time.Time // likewise
	At     time.Time // the instant of its beginning; of a missing one that of the change
	Abbrev string    // of the zone, then
	Pass   StretchPass

	Named []time.Time // the wall times in it that the fields say, as if in UTC
	Runs  []time.Time // the instants that the schedule names in it, or for what it says there
}

// StretchPass is what a change does to a stretch.
type StretchPass uint8

// What a change does to a stretch.
const (
	Usual   StretchPass = iota
	Missing             // the clock never shows it
	First               // the clock shows it again afterwards
	Again               // the clock has shown it before
)

// Around cuts the time around a change into stretches, and tells of each what
// the fields of a schedule, written as spec, say if they are read off the wall
// clock as plain numbers, and what the schedule makes of it. Effect says the same
// in words.
func (c Change) Around(spec string, s cron.Schedule) []Stretch {
	plain, _ := ParseSchedule(spec, nil, 0)
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
	if plain == nil {
		return all
	}
	for i := range all {
		all[i].Named = namedIn(plain, all[i].Wall, all[i].End)
		if all[i].Pass != Missing {
			all[i].Runs = namedIn(s, all[i].At, all[i].At.Add(length))
		}
	}
	if c.Forward() {
		c.makeUp(&all[2], &all[3], s)
	}
	return all
}

// span is by how much the clock is changed.
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

// makeUp puts a run at the end of a gap to the times in the gap that it makes up
// for. It stays where it is, too, if the fields say that time.
func (c Change) makeUp(gap, after *Stretch, s cron.Schedule) {
	if len(gap.Named) == 0 || !c.madeUp(s) {
		return
	}
	gap.Runs = []time.Time{c.At}
	if len(after.Named) == 0 || !after.Named[0].Equal(after.Wall) {
		after.Runs = after.Runs[1:]
	}
}

// madeUp tells that a schedule occurs at the end of the gap for what it names in
// it.
func (c Change) madeUp(s cron.Schedule) bool {
	return PassesOf(s) != PassEach && s.Next(c.At.Add(-1)).Equal(c.At)
}
