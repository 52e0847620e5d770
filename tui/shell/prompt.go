package shell

import (
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// prompt reads one line of text.
type prompt struct {
	title    string
	hint     string // what to type, with an example
	line     edit.Line
	optional bool   // the text may be empty
	waits    string // shown after enter while an answer is awaited; empty: the user types
	done     func(s *Shell, text string)
}

func (p *prompt) key(s *Shell, k screen.Key) {
	switch {
	case k.Name == "esc":
		s.over = nil
	case p.waits != "":
	case k.Name == "enter":
		if text := p.line.Text(); text != "" || p.optional {
			s.over = nil
			p.done(s, text)
			if p.waits != "" {
				s.over = p
			}
		}
	default:
		page.TypeInto(&p.line, k)
	}
}

func (p *prompt) height(_ *Shell, _, room int) int { return min(3, room) }

func (p *prompt) draw(v canvas.View, s *Shell) {
	g := s.w.Glyphs
	x := v.Put(1, 0, p.title+" ", canvas.Style{Bold: true})
	page.DrawInput(v, x, 0, v.Width()-x-1, &p.line, s.w)
	hint := p.hint
	if p.waits != "" {
		hint = p.waits
	}
	v.PutCut(1, 1, v.Width()-2, hint, g.Ellipsis, canvas.Style{})
	page.DrawHints(v, 1, 2, s.w, canvas.Style{}, "enter", "go", "esc", "cancel")
}
