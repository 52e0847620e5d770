package tui

import (
	"image/color"

	"charm.land/lipgloss/v2"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/settings"
)

// roleColors are the colours of roles; nil: the terminal's own.
type roleColors [canvas.Roles]color.Color

// colorsOf returns the colours of a theme, which custom may have. An unknown theme is the first one.
func colorsOf(name string, custom map[string]settings.Theme) roleColors {
	if theme, ok := custom[name]; ok {
		colors := themes[theme.Base]
		for role, text := range theme.Colors {
			colors[role] = lipgloss.Color(text)
		}
		return colors
	}
	if colors, ok := themes[name]; ok {
		return colors
	}
	return themes[settings.Themes[0]]
}

// themes assign colours to roles. ansi uses the terminal's own sixteen colours. cvd
// is for users who cannot tell red from green.
var themes = map[string]roleColors{
	"ansi": {
		canvas.Good: lipgloss.Green, canvas.Bad: lipgloss.Red, canvas.Doubt: lipgloss.Yellow, canvas.Busy: lipgloss.Cyan,
		canvas.Match: lipgloss.Yellow,
	},
	"dark": {
		canvas.Good: lipgloss.Color("#7fd88f"), canvas.Bad: lipgloss.Color("#ff7a7a"), canvas.Doubt: lipgloss.Color("#f2c14e"),
		canvas.Busy: lipgloss.Color("#6cc7e8"), canvas.Off: lipgloss.Color("#9a9a9a"), canvas.Fresh: lipgloss.Color("#9a9a9a"),
		canvas.Title: lipgloss.Color("#d0d0ff"), canvas.Rule: lipgloss.Color("#6a6a6a"), canvas.Match: lipgloss.Color("#ffd75f"),
	},
	"light": {
		canvas.Good: lipgloss.Color("#1a7f37"), canvas.Bad: lipgloss.Color("#b3261e"), canvas.Doubt: lipgloss.Color("#8a5a00"),
		canvas.Busy: lipgloss.Color("#00688b"), canvas.Off: lipgloss.Color("#6a6a6a"), canvas.Fresh: lipgloss.Color("#6a6a6a"),
		canvas.Title: lipgloss.Color("#3b3b8f"), canvas.Rule: lipgloss.Color("#a0a0a0"), canvas.Match: lipgloss.Color("#8a5a00"),
	},
	"cvd": {
		canvas.Good: lipgloss.Color("#56b4e9"), canvas.Bad: lipgloss.Color("#d55e00"), canvas.Doubt: lipgloss.Color("#f0e442"),
		canvas.Busy: lipgloss.Color("#cc79a7"), canvas.Match: lipgloss.Color("#f0e442"),
	},
}
