package tui

import (
	"image/color"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/cronring/cronring/tui/canvas"
)

// palette writes styles as the terminal reads them. What a style looks like is
// worked out once.
type palette struct {
	look  Look
	roles [canvas.Roles]color.Color
	known map[canvas.Style]string
}

func newPalette(l Look) *palette {
	roles, ok := themes[l.theme]
	if !ok {
		roles = themes["ansi"]
	}
	return &palette{look: l, roles: roles, known: map[canvas.Style]string{}}
}

// maxKnown bounds how many styles are remembered: output of jobs may have any.
const maxKnown = 4096

// Sequence sets a style after a reset.
func (p *palette) Sequence(s canvas.Style) string {
	if text, ok := p.known[s]; ok {
		return text
	}
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	text := p.make(s)
	p.known[s] = text
	return text
}

// make makes the sequence of a style for this terminal: "" if nothing is to be set.
func (p *palette) make(s canvas.Style) string {
	var style ansi.Style
	if s.Bold {
		style = style.Bold()
	}
	if s.Italic {
		style = style.Italic(true)
	}
	if s.Underline {
		style = style.Underline(true)
	}
	if s.Reverse {
		style = style.Reverse(true)
	}
	if s.Faint || p.faint(s) {
		style = style.Faint()
	}
	if c := p.convert(foreignOr(s.Foreground, p.roles[s.Role])); c != nil {
		style = style.ForegroundColor(c)
	}
	if c := p.convert(foreignOr(s.Background, nil)); c != nil {
		style = style.BackgroundColor(c)
	}
	if len(style) == 0 {
		return ""
	}
	return style.String()
}

// faint reports roles that are dim where the theme has no colour for them.
func (p *palette) faint(s canvas.Style) bool {
	switch s.Role {
	case canvas.Off, canvas.Fresh, canvas.Rule:
		return p.roles[s.Role] == nil || p.look.profile <= colorprofile.ASCII
	}
	return false
}

// convert brings a colour down to what the terminal has; nil: none.
func (p *palette) convert(c color.Color) color.Color {
	if c == nil || p.look.profile <= colorprofile.ASCII {
		return nil
	}
	return p.look.profile.Convert(c)
}

// foreignOr is the colour that a job's output asked for, or else another.
func foreignOr(c canvas.Color, other color.Color) color.Color {
	r, g, b := c.Levels()
	switch {
	case c == 0:
		return other
	case c.IsIndexed() && b < 16:
		return ansi.BasicColor(b)
	case c.IsIndexed():
		return ansi.IndexedColor(b)
	}
	return color.RGBA{R: r, G: g, B: b, A: 0xff}
}

// themes assign colours to roles. ansi uses the terminal's own sixteen colours. cvd
// is for users who cannot tell red from green.
var themes = map[string][canvas.Roles]color.Color{
	"ansi": {
		canvas.Good: ansi.Green, canvas.Bad: ansi.Red, canvas.Doubt: ansi.Yellow, canvas.Busy: ansi.Cyan,
		canvas.Match: ansi.Yellow,
	},
	"dark": {
		canvas.Good: rgb(0x7fd88f), canvas.Bad: rgb(0xff7a7a), canvas.Doubt: rgb(0xf2c14e),
		canvas.Busy: rgb(0x6cc7e8), canvas.Off: rgb(0x9a9a9a), canvas.Fresh: rgb(0x9a9a9a),
		canvas.Title: rgb(0xd0d0ff), canvas.Rule: rgb(0x6a6a6a), canvas.Match: rgb(0xffd75f),
	},
	"light": {
		canvas.Good: rgb(0x1a7f37), canvas.Bad: rgb(0xb3261e), canvas.Doubt: rgb(0x8a5a00),
		canvas.Busy: rgb(0x00688b), canvas.Off: rgb(0x6a6a6a), canvas.Fresh: rgb(0x6a6a6a),
		canvas.Title: rgb(0x3b3b8f), canvas.Rule: rgb(0xa0a0a0), canvas.Match: rgb(0x8a5a00),
	},
	"cvd": {
		canvas.Good: rgb(0x56b4e9), canvas.Bad: rgb(0xd55e00), canvas.Doubt: rgb(0xf0e442),
		canvas.Busy: rgb(0xcc79a7), canvas.Match: rgb(0xf0e442),
	},
}

// rgb is the colour 0xRRGGBB.
func rgb(hex uint32) color.Color {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}
