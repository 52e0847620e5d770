package detail

import (
	"fmt"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// nextText returns the tab of coming runs.
func (s *Detail) nextText(w *screen.World, row *api.Row) []page.Paragraph {
	if s.file.Job == nil {
		return page.Unknown(w, nil)
	}
	ahead := &s.file.Ahead
	text := []page.Paragraph{page.Heading(jobinfo.NextTitle("Next runs", w, row))}
	if len(ahead.Runs) == 0 {
		text = append(text, page.Line(" nothing is planned", canvas.Style{}))
	}
	for _, at := range ahead.Runs {
		stamp := display.Pad(w.Stamp(at, row.Zone), 30)
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " " + stamp}, {Text: "in " + display.Away(at, w.Now)}}})
	}
	if len(ahead.Changes) > 0 {
		text = append(text, page.Heading("What the next changes of the clocks do"))
	}
	for _, c := range ahead.Changes {
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " "}, {Text: c.Text("Mon 2 Jan 2006")}}, Hang: 3})
	}
	text = append(text, page.Heading("In a shell"))
	return append(text, page.Line(" cronring explain "+display.Quote(string(row.Job)), canvas.Style{Bold: true}))
}

// configText is the tab of the options that hold, and who said so.
func (s *Detail) configText(w *screen.World, width int) []page.Paragraph {
	switch {
	case s.err != nil:
		return []page.Paragraph{page.Line(" "+s.err.Error(), canvas.Style{Role: canvas.Bad})}
	case s.config.V == 0:
		return page.Unknown(w, nil)
	}
	var text []page.Paragraph
	for _, why := range []string{s.config.Held, s.config.Degraded} {
		if why != "" {
			text = append(text, page.Line(" "+why, canvas.Style{Role: canvas.Doubt, Bold: true}))
		}
	}
	var rest []page.Paragraph
	for i := range s.config.Options {
		o := &s.config.Options[i]
		if o.Origin == option.BuiltIn.String() {
			rest = append(rest, settingParagraphs(o, width)...)
			continue
		}
		text = append(text, settingParagraphs(o, width)...)
	}
	if len(rest) > 0 {
		text = append(append(text, page.Heading("Defaults")), rest...)
	}
	text = append(text, page.Heading("In a shell"))
	return append(text, page.Line(" cronring config show "+display.Quote(string(s.id)), canvas.Style{Bold: true}))
}

// settingParagraphs returns the lines of one option. Built-in values are dim.
func settingParagraphs(s *api.Setting, width int) []page.Paragraph {
	style := canvas.Style{}
	origin := s.Origin
	if s.File != "" {
		origin += fmt.Sprintf("  %s:%d", s.File, s.Line)
	}
	if s.Origin == option.BuiltIn.String() {
		style.Role = canvas.Off
	}
	value := s.Value
	if value == "" {
		value = "-"
	}
	const behindKey, behindValue = 18, 24
	key := page.Span{Text: " " + display.Pad(display.Text(s.Key), behindKey-1), Style: style}
	value = display.Text(value)
	if behindKey+behindValue+page.Width(origin) > width || display.Width(value) >= behindValue {
		return []page.Paragraph{
			{Spans: []page.Span{key, {Text: value, Style: style}}, Hang: behindKey},
			{Spans: []page.Span{{Text: "   ", Style: style}, {Text: origin, Style: canvas.Style{Role: canvas.Off}}}, Hang: 3},
		}
	}
	return []page.Paragraph{{Spans: []page.Span{key, {Text: display.Pad(value, behindValue), Style: style}, {Text: origin, Style: style}}, Hang: behindKey}}
}
