package screen

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/when"
)

// maxZones bounds the zones that a world remembers: their names come from
// crontabs.
const maxZones = 1024

// In is the zone in which a time of a job is shown, which has the zone of that
// name: "Local" and "" are the host's.
func (w *World) In(zone string) *time.Location {
	switch w.Zone {
	case ZoneUTC:
		return time.UTC
	case ZoneJob:
		return w.LoadZone(zone)
	}
	return w.Local
}

// LoadZone is a zone by its name. One that is not known here is the person's own.
func (w *World) LoadZone(name string) *time.Location {
	if name == "" || name == "Local" {
		name = w.Status.Zone
	}
	if loc, ok := w.zones[name]; ok {
		return loc
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" {
		loc = w.Local
	}
	if w.zones == nil || len(w.zones) >= maxZones {
		w.zones = map[string]*time.Location{}
	}
	w.zones[name] = loc
	return loc
}

// ZoneWord says once on a screen in which zone its times are: "CET", "UTC", "job
// zones".
func (w *World) ZoneWord() string {
	switch w.Zone {
	case ZoneUTC:
		return "UTC"
	case ZoneJob:
		return "job zones"
	}
	return w.Now.In(w.Local).Format("MST")
}

// AppendNext says an instant to come, of a job of that zone: "2m49s", or
// "18:05:00" where times are shown as such.
func (w *World) AppendNext(b []byte, t time.Time, zone string) []byte {
	if w.Absolute && !t.IsZero() {
		return when.AppendPoint(b, t.In(w.In(zone)), w.Now)
	}
	return when.AppendAway(b, t, w.Now)
}

// Past says an instant that is past, of a job of that zone: "2m11s", or
// "18:00:00" where times are shown as such.
func (w *World) Past(t time.Time, zone string) string { return string(w.AppendPast(nil, t, zone)) }

// AppendPast appends what Past says.
func (w *World) AppendPast(b []byte, t time.Time, zone string) []byte {
	if w.Absolute && !t.IsZero() {
		return when.AppendPoint(b, t.In(w.In(zone)), w.Now)
	}
	return when.AppendAgo(b, t, w.Now)
}

// Point says an instant, of a job of that zone, as such: "18:05:00", "Mon 18:05".
func (w *World) Point(t time.Time, zone string) string { return when.Point(t.In(w.In(zone)), w.Now) }

// Stamp says an instant, of a job of that zone, in full: "Fri 20 Nov 02:30:00
// CET".
func (w *World) Stamp(t time.Time, zone string) string { return when.Stamp(t.In(w.In(zone)), w.Now) }

// Since is how long ago something began, in whole seconds: what counts up on the
// screen changes with the second.
func (w *World) Since(t time.Time) time.Duration { return max(w.Now.Sub(t), 0).Truncate(time.Second) }

func Midnight(t time.Time, loc *time.Location) time.Time {
	y, m, d := t.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, loc)
}

// ZoneName names the zone of a job: "Local" is the host's.
func (w *World) ZoneName(zone string) string {
	if (zone == "Local" || zone == "") && w.Status.Zone != "" {
		return w.Status.Zone
	}
	return zone
}

// instantText says a minute with its day: "02:30 Sat", "02:30 Sat 28 Nov".
func (w *World) Minute(t time.Time, loc *time.Location) string {
	form := "15:04 Mon"
	if t.Sub(w.Now).Abs() > 6*24*time.Hour {
		form = "15:04 Mon 2 Jan"
	}
	return t.In(loc).Format(form)
}

func (w *World) Took(r *job.Run) string {
	switch {
	case r.Started.IsZero():
		return "-"
	case r.Ended.IsZero():
		return when.Brief(w.Now.Sub(r.Started).Truncate(time.Second))
	}
	return when.Brief(r.Ended.Sub(r.Started))
}
