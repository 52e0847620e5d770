package api

import (
	"cmp"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

// Blackout is a blackout of the host.
type Blackout struct {
	Name   string    `json:"name"`
	Reason string    `json:"reason,omitempty"`
	Hours  string    `json:"hours,omitempty"` // in the syntax of blackout=
	Zone   string    `json:"zone,omitempty"`  // of the hours
	From   time.Time `json:"from,omitzero"`
	Until  time.Time `json:"until,omitzero"` // zero: no end
}

// NewBlackouts returns blackouts with their hours as text.
func NewBlackouts(all timetable.Blackouts) []Blackout {
	list := make([]Blackout, 0, len(all))
	for _, b := range all {
		one := Blackout{Name: b.Name, Reason: b.Reason, From: b.From, Until: b.Until}
		if b.Allowed != nil {
			one.Hours, one.Zone = strings.TrimPrefix(b.Allowed.String(), " blackout="), b.Allowed.Zone().String()
		}
		list = append(list, one)
	}
	return list
}

// HostBlackouts returns the blackouts of the host. zone finds the zones of their hours.
func (t *CrontabText) HostBlackouts(zone func(string) (*time.Location, error)) (all timetable.Blackouts) {
	for _, b := range t.Blackouts {
		one := timetable.Blackout{Name: b.Name, Reason: b.Reason, From: b.From, Until: b.Until}
		if b.Hours != "" {
			spans, err := timetable.ParseSpans(b.Hours)
			local, unknown := zone(b.Zone)
			if cmp.Or(err, unknown) != nil {
				continue // of a newer daemon
			}
			one.Allowed = timetable.NewHours(nil, spans, timetable.NewZone(local))
		}
		all = append(all, one)
	}
	return all
}
