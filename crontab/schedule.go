package crontab

import "time"

// Schedule is the set of instants that five fields name in one zone.
type Schedule struct {
	fieldSet
	zone *Zone
	spec string
}

// ParseSchedule reads five fields or a nickname.
func ParseSchedule(spec string, zone *Zone, seed uint64) (*Schedule, []Diagnostic) {
	return nil, nil
}

// schedule gives f a zone; spec is the text that was read.
func (f fieldSet) schedule(spec string, zone *Zone) *Schedule {
	return &Schedule{fieldSet: f, zone: zone, spec: spec}
}

// Next is the first occurrence strictly after t, or the zero Time.
func (s *Schedule) Next(t time.Time) time.Time { return time.Time{} }

// String is the fields as written.
func (s *Schedule) String() string { return s.spec }

// Zone is the zone that the fields are read in.
func (s *Schedule) Zone() *Zone { return s.zone }

// Wildcard tells whether s matches the clock at each real minute.
func (s *Schedule) Wildcard() bool { return s.flags&fieldWildcard != 0 }

// Never tells whether s names no instant at all.
func (s *Schedule) Never() bool { return false }
