package tui

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/cronring/cronring/tui/canvas"
)

func TestPaletteWritesStyles(t *testing.T) {
	all := canvas.Style{Role: canvas.Bad, Bold: true, Faint: true, Italic: true, Reverse: true}
	foreign := canvas.Style{Role: canvas.Good, Foreground: canvas.RGB(255, 0, 0), Background: canvas.Indexed(200)}
	for _, test := range []struct {
		name    string
		theme   string
		profile colorprofile.Profile
		style   canvas.Style
		want    string
	}{
		{"plain", "dark", colorprofile.TrueColor, canvas.Style{}, ""},
		{"all", "ansi", colorprofile.ANSI, all, "\x1b[1;3;7;2;31m"},
		{"all without colours", "ansi", colorprofile.ASCII, all, "\x1b[1;3;7;2m"},
		{"underlined", "ansi", colorprofile.ASCII, canvas.Style{Underline: true}, "\x1b[4;4m"},
		{"a theme's colour", "dark", colorprofile.TrueColor, canvas.Style{Role: canvas.Good}, "\x1b[38;2;127;216;143m"},
		{"of 256", "dark", colorprofile.ANSI256, canvas.Style{Role: canvas.Good}, "\x1b[38;5;114m"},
		{"of 16", "dark", colorprofile.ANSI, canvas.Style{Role: canvas.Good}, "\x1b[92m"},
		{"a theme that nobody knows", "?", colorprofile.TrueColor, canvas.Style{Role: canvas.Good}, "\x1b[32m"},
		{"dim where there is no colour for it", "ansi", colorprofile.TrueColor, canvas.Style{Role: canvas.Off}, "\x1b[2m"},
		{"not dim where there is", "dark", colorprofile.TrueColor, canvas.Style{Role: canvas.Off}, "\x1b[38;2;154;154;154m"},
		{"dim where there are none", "dark", colorprofile.ASCII, canvas.Style{Role: canvas.Off}, "\x1b[2m"},
		{"a job's own", "ansi", colorprofile.TrueColor, foreign, "\x1b[38;2;255;0;0;48;5;200m"},
		{"a job's own, of 16", "ansi", colorprofile.ANSI, foreign, "\x1b[91;101m"},
		{"a job's basic", "ansi", colorprofile.TrueColor, canvas.Style{Foreground: canvas.Indexed(1), Background: canvas.Indexed(9)}, "\x1b[31;101m"},
		{"a job's own without colours", "ansi", colorprofile.ASCII, foreign, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPalette(test.profile, colorsOf(test.theme, nil))
			for range 2 { // made, then remembered
				if got := p.Sequence(test.style); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
		})
	}
}

// Output of jobs may have any number of styles.
func TestPaletteRemembersNotMoreThanItMay(t *testing.T) {
	p := newPalette(colorprofile.TrueColor, colorsOf("", nil))
	for i := range uint8(200) {
		for k := range uint8(200) {
			p.Sequence(canvas.Style{Foreground: canvas.RGB(i, k, 1)})
		}
	}
	if len(p.known) > maxKnown {
		t.Errorf("%d styles are remembered, want %d at most", len(p.known), maxKnown)
	}
}
