package tui

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/nocolor"
)

func init() { nocolor.End() }

// palette writes styles as the terminal reads them. What a style looks like is
// worked out once.
type palette struct {
	profile colorprofile.Profile
	roles   roleColors
	known   map[canvas.Style]string
}

func newPalette(profile colorprofile.Profile, roles roleColors) *palette {
	return &palette{profile: profile, roles: roles, known: map[canvas.Style]string{}}
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

// make returns the sequence that Lip Gloss writes before a text in a style.
func (p *palette) make(s canvas.Style) string {
	const text = "x" // of no style's sequence
	before, _, _ := strings.Cut(p.style(s).Render(text), text)
	return before
}

// style converts a style for this terminal.
func (p *palette) style(s canvas.Style) lipgloss.Style {
	style := lipgloss.NewStyle().
		Bold(s.Bold).Faint(s.Faint || p.faint(s)).Italic(s.Italic).Underline(s.Underline).Reverse(s.Reverse)
	if c := p.convert(foreignOr(s.Foreground, p.roles[s.Role])); c != nil {
		style = style.Foreground(c)
	}
	if c := p.convert(foreignOr(s.Background, nil)); c != nil {
		style = style.Background(c)
	}
	return style
}

// faint reports roles that are dim where the theme has no colour for them.
func (p *palette) faint(s canvas.Style) bool {
	switch s.Role {
	case canvas.Off, canvas.Fresh, canvas.Rule:
		return p.roles[s.Role] == nil || p.profile <= colorprofile.ASCII
	}
	return false
}

// convert brings a colour down to what the terminal has, as no writer of Lip Gloss
// is between; nil: none.
func (p *palette) convert(c color.Color) color.Color {
	if c == nil || p.profile <= colorprofile.ASCII {
		return nil
	}
	return p.profile.Convert(c)
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
		return lipgloss.ANSIColor(b)
	}
	return color.RGBA{R: r, G: g, B: b, A: 0xff}
}
