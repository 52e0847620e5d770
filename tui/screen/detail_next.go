package screen

import (
	"fmt"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

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
