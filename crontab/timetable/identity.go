package timetable

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// Identity returns a string that is equal for schedules with the same
// occurrences, in this process and in later ones. It covers the fields, the zone,
// the dates of calendars and the modifiers, but not the seed of a jitter, which never changes on a
// host. A zone is identified by its name, so a correction of its rules does not
// change the identity. If the host's zone is only known as Local, its rules
// identify it, because the host might move.
func Identity(s cron.Schedule) string {
	var b strings.Builder
	if d := DaysOf(s); d != nil {
		b.WriteString(d.identity() + ";")
	}
	for at := range layers(s) {
		b.WriteString(strings.Join(strings.Fields(fmt.Sprint(at)), " ") + ";")
		if zoned, ok := at.(interface{ Zone() *Zone }); ok {
			b.WriteString(zoned.Zone().identity())
		}
	}
	return b.String()
}

// identity returns the name of z, or a hash of its rules if the name is Local.
func (z *Zone) identity() string {
	if z.String() != "Local" {
		return z.String()
	}
	h := Mix(0, "Local")
	for _, s := range z.spans {
		h = Mix(h, fmt.Sprint(s.start, s.offset))
	}
	return fmt.Sprintf("Local %x", h)
}
