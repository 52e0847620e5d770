package crontab

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// Identity says all that the instants of a schedule depend on: its fields,
// its zone, its modifiers, but not blanks nor the seed of a jitter, which does not change
// during the life of a host. A zone is its name, so that a correction of its
// rules changes no identity; but the host's, where it is only known as Local,
// is its rules, as the host may move. Two schedules with one identity name the same
// instants, in this process and in a later one.
func Identity(s cron.Schedule) string {
	var b strings.Builder
	for s != nil {
		b.WriteString(strings.Join(strings.Fields(fmt.Sprint(s)), " ") + ";")
		if zoned, ok := s.(interface{ Zone() *Zone }); ok {
			b.WriteString(zoned.Zone().identity())
		}
		outer, ok := s.(interface{ Unwrap() cron.Schedule })
		if !ok {
			break
		}
		s = outer.Unwrap()
	}
	return b.String()
}

// identity tells z from zones with other rules or another name.
func (z *Zone) identity() string {
	if z.String() != "Local" {
		return z.String()
	}
	h := mix(0, "Local")
	for _, s := range z.spans {
		h = mix(h, fmt.Sprint(s.start, s.offset))
	}
	return fmt.Sprintf("Local %x", h)
}
