package main

import (
	"fmt"
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
	effects := []zoneChange{}
	for _, c := range zone.Coming(from, 2) {
		effects = append(effects, zoneChange{
			At: c.At, Before: crontab.Wall(c.At, c.Before).Format("15:04"), After: crontab.Wall(c.At, c.After).Format("15:04"),
			Effect: c.Effect(spec, s),
		})
	}
	return effects
}
