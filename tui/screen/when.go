package screen

import (
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// maxZones bounds the zones that a world remembers: their names come from
// crontabs.
const maxZones = 1024

// In returns the zone in which times of a job are shown. The argument is the job's
// zone; "Local" and "" mean the zone of the host.
func (w *World) In(zone string) *time.Location {
	if w.Zone == ZoneJob {
		return w.LoadZone(zone)
	}
	return w.OneZone()
}

// OneZone returns the zone in which times of several jobs are shown together.
func (w *World) OneZone() *time.Location {
	if w.Zone == ZoneUTC {
		return time.UTC
	}
	return w.Local
}

// LoadZone returns a zone by its name, or the user's own zone if this host does not
// have it.
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

// ZoneWord returns the name of the zone in which times are shown: "CET", "UTC", "job
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

// AppendNext appends a future time of a job: "2m49s", or "18:05:00" if absolute times
// are shown.
func (w *World) AppendNext(b []byte, t time.Time, zone string) []byte {
	if w.Absolute && !t.IsZero() {
		return w.Clock.AppendPoint(b, t.In(w.In(zone)), w.Now)
	}
	return display.AppendAway(b, t, w.Now)
}

// AppendDated appends the text of AppendNext or, if absolute times are shown, one that has the time of a
// day also further away: "28 Mar 05:00".
func (w *World) AppendDated(b []byte, t time.Time, zone string) []byte {
	if w.Absolute && !t.IsZero() {
		return w.Clock.AppendDated(b, t.In(w.In(zone)), w.Now)
	}
	return w.AppendNext(b, t, zone)
}

// Past returns a past time of a job: "2m11s", or "18:00:00" if absolute times are
// shown.
func (w *World) Past(t time.Time, zone string) string { return string(w.AppendPast(nil, t, zone)) }

// AppendPast appends the text of Past.
func (w *World) AppendPast(b []byte, t time.Time, zone string) []byte {
	if w.Absolute && !t.IsZero() {
		return w.Clock.AppendPoint(b, t.In(w.In(zone)), w.Now)
	}
	return display.AppendAgo(b, t, w.Now)
}

// Point returns a time of a job as "18:05:00", "Mon 18:05" or "28 Mar 05:00".
func (w *World) Point(t time.Time, zone string) string {
	return string(w.Clock.AppendDated(nil, t.In(w.In(zone)), w.Now))
}

// Stamp returns a time of a job in full: "Fri 20 Nov 02:30:00 CET".
func (w *World) Stamp(t time.Time, zone string) string { return w.Clock.Stamp(t.In(w.In(zone)), w.Now) }

// Since returns the time since t in whole seconds, so that counters change once a
// second.
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

// Minute returns a minute and its day: "02:30 Sat", "02:30 Sat 28 Nov".
func (w *World) Minute(t time.Time, loc *time.Location) string {
	form := "15:04 Mon"
	if t.Sub(w.Now).Abs() > 6*24*time.Hour {
		form = "15:04 Mon 2 Jan"
	}
	return t.In(loc).Format(w.Clock.Layout(form))
}

func (w *World) Took(r *job.Run) string {
	switch {
	case r.Started.IsZero(), r.OnlyStarted():
		return "-"
	case r.Ended.IsZero():
		return display.Brief(w.Now.Sub(r.Started).Truncate(time.Second))
	}
	return display.Brief(r.Length())
}
