package tui

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/settings"
)

// Look describes the abilities of the terminal and the preferences of the user.
type Look struct {
	profile colorprofile.Profile
	Theme   string // of the environment, which overrides the settings; empty: none
	Glyphs  *canvas.Glyphs
	Still   bool // nothing moves by itself
}

// FlagPreferences are the preferences that flags set. The environment sets the rest.
type FlagPreferences struct {
	Color string // auto, always, never; empty: auto
	ASCII bool
	TTY   bool // the output is a terminal
}

// FindLook decides by flags, then by the environment.
func FindLook(w FlagPreferences, env func(string) string) Look {
	return Look{
		profile: findProfile(w, env),
		Theme:   env("CRONRING_THEME"),
		Glyphs:  canvas.GlyphsOf(findTier(w, env)),
		Still:   strings.EqualFold(env("CRONRING_ANIMATION"), "off"),
	}
}

// palette returns the colours by the settings.
func (l Look) palette(s *settings.Settings) *palette {
	return newPalette(l.profile, colorsOf(cmp.Or(l.Theme, s.Theme), s.Custom))
}

// Capable reports whether a terminal can show a screen at all.
func Capable(env func(string) string) bool {
	t := env("TERM")
	return t != "" && t != "dumb"
}

// findProfile returns the colour profile. The first of these that is set decides: the
// flag, CRONRING_COLOR, NO_COLOR, CLICOLOR_FORCE, the terminal.
func findProfile(w FlagPreferences, env func(string) string) colorprofile.Profile {
	for _, word := range []string{w.Color, env("CRONRING_COLOR")} {
		switch word {
		case "always":
			return max(terminalProfile(env), colorprofile.ANSI)
		case "never":
			return colorprofile.ASCII
		}
	}
	switch force := env("CLICOLOR_FORCE"); {
	case env("NO_COLOR") != "":
		return colorprofile.ASCII
	case force != "" && force != "0":
		return max(terminalProfile(env), colorprofile.ANSI)
	case !w.TTY || !Capable(env):
		return colorprofile.ASCII
	}
	return terminalProfile(env)
}

// terminalProfile returns the colours of the terminal, by COLORTERM, by its name, and
// by its terminfo entry.
func terminalProfile(env func(string) string) colorprofile.Profile {
	t := env("TERM")
	switch c := strings.ToLower(env("COLORTERM")); {
	case c == "truecolor" || c == "24bit":
		return colorprofile.TrueColor
	case t == "" || t == "dumb" || strings.HasPrefix(t, "vt") || strings.HasSuffix(t, "-m") || strings.HasSuffix(t, "-mono"):
		return colorprofile.ASCII
	}
	return max(colorprofile.Env([]string{"TERM=" + t}), colorprofile.Terminfo(t))
}

// findTier returns the characters to use, by the user's preference and the locale.
func findTier(w FlagPreferences, env func(string) string) canvas.Tier {
	if w.ASCII {
		return canvas.ASCII
	}
	switch strings.ToLower(env("CRONRING_GLYPHS")) {
	case "full", "safe":
		return canvas.Full
	case "ascii":
		return canvas.ASCII
	}
	if env("CRONRING_AMBIGUOUS") == "2" || !utf8Locale(env) {
		return canvas.ASCII
	}
	return canvas.Full
}

// utf8Locale reports whether the locale's characters are those of UTF-8.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(env(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}
