package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
)

// zoneChange is one change of a zone's offset and what it does to a schedule.
type zoneChange struct {
	At     time.Time `json:"at"`
	Before string    `json:"before"` // the wall clock just before, 15:04
	After  string    `json:"after"`  // and at the change
	Effect string    `json:"effect"`
}

func (c zoneChange) title() string {
	verb := "goes back"
	if c.After > c.Before {
		verb = "jumps"
	}
	return fmt.Sprintf("%s %s %s -> %s", c.At.Format("Mon 2006-01-02"), verb, c.Before, c.After)
}

// nextChanges tells what the next two changes of the zone do to a schedule.
func nextChanges(spec string, s cron.Schedule, zone *crontab.Zone, from time.Time) []zoneChange {
	changes := zone.Changes(from, from.AddDate(2, 0, 0))
	effects := []zoneChange{}
	for _, c := range changes[:min(2, len(changes))] {
		effects = append(effects, zoneChange{
			At: c.At, Before: wall(c.At, c.Before).Format("15:04"), After: wall(c.At, c.After).Format("15:04"),
			Effect: effectOf(c, spec, s),
		})
	}
	return effects
}

// wall is what a clock with that offset shows, written as if it were UTC.
func wall(t time.Time, offset int) time.Time {
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// effectOf compares what the fields say, read off the wall clock as plain
// numbers, with the instants that the schedule names.
func effectOf(c crontab.Change, spec string, s cron.Schedule) string {
	plain, _ := crontab.ParseSchedule(spec, nil, 0)
	if plain == nil {
		return "no effect"
	}
	before, after := wall(c.At, c.Before), wall(c.At, c.After)
	if after.After(before) {
		return gapEffect(c, s, between(plain, before, after))
	}
	return repeatEffect(c, s, between(plain, after, before))
}

// between lists the occurrences of s in [from, to).
func between(s cron.Schedule, from, to time.Time) []time.Time {
	return window{from: from, until: to, number: 24 * 60 * 60}.runs(s)
}

func gapEffect(c crontab.Change, s cron.Schedule, named []time.Time) string {
	if len(named) == 0 {
		return "no effect: it names no time in the gap"
	}
	if crontab.PassesOf(s) != crontab.PassEach && s.Next(c.At.Add(-1)).Equal(c.At) {
		return fmt.Sprintf("%s: it runs once at %s", subject(named, "does not exist", "do not exist"), c.At.Format("15:04 -07:00"))
	}
	return fmt.Sprintf("%s: %s fewer that day", subject(named, "does not exist", "do not exist"), plural(len(named), "run"))
}

func repeatEffect(c crontab.Change, s cron.Schedule, named []time.Time) string {
	if len(named) == 0 {
		return "no effect: it names no repeated time"
	}
	span := time.Duration(c.Before-c.After) * time.Second
	twice := subject(named, "comes twice", "come twice")
	first, second := len(between(s, c.At.Add(-span), c.At)), len(between(s, c.At, c.At.Add(span)))
	switch {
	case second == 0:
		return twice + ": it runs the first time only"
	case first == 0:
		return twice + ": it runs the second time only"
	}
	return twice + ": it runs both times, " + plural(second, "run") + " more that day"
}

// subject names a few wall times, or the first and last of many, and what is
// said of one or of several.
func subject(named []time.Time, one, several string) string {
	var texts []string
	for _, t := range named {
		texts = append(texts, t.Format("15:04"))
	}
	switch n := len(texts); {
	case n == 1:
		return texts[0] + " " + one
	case n > 3:
		return texts[0] + ".." + texts[n-1] + " " + several
	}
	return strings.Join(texts, ", ") + " " + several
}
