package screen

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// outlook is what the schedule of a job says of the time to come.
type outlook struct {
	runs    []time.Time
	changes []clockChange // the next two of the clocks
}

// clockChange is what a change of the clocks does to a schedule.
type clockChange struct {
	before, after time.Time // what clocks show
	effect        string
}

// text says the change with its day in some form.
func (c clockChange) text(day string) string {
	return fmt.Sprintf("%s %s -> %s: %s", c.before.Format(day), c.before.Format("15:04"), c.after.Format("15:04"), c.effect)
}

// maxOutlook is how many occurrences to come are shown.
const maxOutlook = 40

// newOutlook reads the schedule of a job as the daemon does, to see further than
// the few occurrences that it sent. If both do not agree (as the fields leave a
// choice to the host, or an option does more than the fields say), only what the
// daemon sent counts.
func newOutlook(j *api.Job, now time.Time, loc *time.Location) outlook {
	o := outlook{runs: j.Upcoming}
	zone := crontab.NewZone(loc)
	spec, s := readSchedule(j, zone)
	if s == nil || len(j.Upcoming) == 0 || delayed(j) {
		return o
	}
	runs := make([]time.Time, 0, maxOutlook)
	for t := s.Next(j.Upcoming[0].Add(-1)); !t.IsZero() && len(runs) < maxOutlook; t = s.Next(t) {
		runs = append(runs, t)
	}
	o.runs = runs
	for _, c := range zone.Coming(now, 2) {
		o.changes = append(o.changes, clockChange{crontab.Wall(c.At, c.Before), crontab.Wall(c.At, c.After), c.Effect(spec, s)})
	}
	return o
}

// nextText is the tab of what is to come.
func (s *Detail) nextText(w *World, row *api.Row) []paragraph {
	if s.file.job == nil {
		return []paragraph{said(" Asking cronringd ...", canvas.Style{Role: canvas.Off})}
	}
	ahead := &s.file.ahead
	text := []paragraph{ruled(nextTitle("Next runs", w, row))}
	if len(ahead.runs) == 0 {
		text = append(text, said(" nothing is planned", canvas.Style{}))
	}
	for _, at := range ahead.runs {
		stamp := safe.Pad(w.Stamp(at, row.Zone), 30)
		text = append(text, paragraph{spans: []span{{text: " " + stamp}, {text: "in " + when.Away(at, w.Now)}}})
	}
	if len(ahead.changes) > 0 {
		text = append(text, ruled("What the next changes of the clocks do"))
	}
	for _, c := range ahead.changes {
		text = append(text, paragraph{spans: []span{{text: " "}, {text: c.text("Mon 2 Jan 2006")}}, hang: 3})
	}
	text = append(text, ruled("In a shell"))
	return append(text, said(" cronring explain "+shellWord(string(row.Job)), canvas.Style{Bold: true}))
}

// configText is the tab of the options that hold, and who said so.
func (s *Detail) configText(width int) []paragraph {
	switch {
	case s.err != nil:
		return []paragraph{said(" "+s.err.Error(), canvas.Style{Role: canvas.Bad})}
	case s.config.V == 0:
		return []paragraph{said(" Asking cronringd ...", canvas.Style{Role: canvas.Off})}
	}
	var text []paragraph
	for _, why := range []string{s.config.Held, s.config.Degraded} {
		if why != "" {
			text = append(text, said(" "+why, canvas.Style{Role: canvas.Doubt, Bold: true}))
		}
	}
	var rest []paragraph
	for i := range s.config.Options {
		o := &s.config.Options[i]
		if o.Origin == crontab.BuiltIn.String() {
			rest = append(rest, settingParagraphs(o, width)...)
			continue
		}
		text = append(text, settingParagraphs(o, width)...)
	}
	if len(rest) > 0 {
		text = append(append(text, ruled("Nobody said, so these are built in")), rest...)
	}
	text = append(text, ruled("In a shell"))
	return append(text, said(" cronring config show "+shellWord(string(s.id)), canvas.Style{Bold: true}))
}

// settingParagraphs is one option. What is built in is dim: the rest is what
// somebody said.
func settingParagraphs(s *api.Setting, width int) []paragraph {
	style := canvas.Style{}
	origin := s.Origin
	if s.File != "" {
		origin += fmt.Sprintf("  %s:%d", s.File, s.Line)
	}
	if s.Origin == crontab.BuiltIn.String() {
		style.Role = canvas.Off
	}
	value := s.Value
	if value == "" {
		value = "-"
	}
	const behindKey, behindValue = 18, 24
	key := span{" " + safe.Pad(safe.Text(s.Key), behindKey-1), style}
	value = safe.Text(value)
	if behindKey+behindValue+cells(origin) > width || safe.Width(value) >= behindValue {
		return []paragraph{
			{spans: []span{key, {value, style}}, hang: behindKey},
			{spans: []span{{"   ", style}, {origin, canvas.Style{Role: canvas.Off}}}, hang: 3},
		}
	}
	return []paragraph{{spans: []span{key, {safe.Pad(value, behindValue), style}, {origin, style}}, hang: behindKey}}
}
