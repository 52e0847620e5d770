package crontab

import "time"

// Zone is a time zone as an immutable table of its offset changes.
type Zone struct {
	location *time.Location
}

// Change is one change of a zone's offset from UTC.
type Change struct {
	At                        time.Time
	Before, After             int // seconds east of UTC
	BeforeAbbrev, AfterAbbrev string
}

// NewZone builds the table of loc; nil means UTC.
func NewZone(loc *time.Location) *Zone {
	if loc == nil {
		loc = time.UTC
	}
	return &Zone{location: loc}
}

// Location is the zone's location.
func (z *Zone) Location() *time.Location { return z.location }

// String is the zone's name.
func (z *Zone) String() string { return z.location.String() }

// Changes lists the changes of offset in [from, to).
func (z *Zone) Changes(from, to time.Time) []Change { return nil }
