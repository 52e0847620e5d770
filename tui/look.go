package tui

import (
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/cronring/cronring/tui/canvas"
)

// Look is what the terminal can show and the person likes.
type Look struct {
	profile colorprofile.Profile
	theme   string
	Glyphs  *canvas.Glyphs
	Still   bool // nothing moves by itself
}

// Wishes are what flags say about the look; the environment says the rest.
type Wishes struct {
	Color string // auto, always, never; empty: auto
	ASCII bool
	TTY   bool // the output is a terminal
}

// FindLook decides by flags, then by the environment.
func FindLook(w Wishes, env func(string) string) Look {
	return Look{
		profile: findProfile(w, env),
		theme:   env("CRONRING_THEME"),
		Glyphs:  canvas.GlyphsOf(findTier(w, env)),
		Still:   strings.EqualFold(env("CRONRING_ANIMATION"), "off"),
	}
}

// Capable reports whether a terminal can show a screen at all.
func Capable(env func(string) string) bool {
	t := env("TERM")
	return t != "" && t != "dumb"
}

// findProfile is how many colours there are. The first that has something to say
// decides: the flag, CRONRING_COLOR, NO_COLOR, CLICOLOR_FORCE, the terminal.
func findProfile(w Wishes, env func(string) string) colorprofile.Profile {
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

// terminalProfile is how many colours the terminal has: what COLORTERM says, the
// name, then its description.
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

// findTier is which characters there are: what the person says, what the locale
// allows, and what the terminal's font has.
func findTier(w Wishes, env func(string) string) canvas.Tier {
	if w.ASCII {
		return canvas.ASCII
	}
	switch strings.ToLower(env("CRONRING_GLYPHS")) {
	case "full":
		return canvas.Full
	case "safe":
		return canvas.Safe
	case "ascii":
		return canvas.ASCII
	}
	t := env("TERM")
	switch {
	case env("CRONRING_AMBIGUOUS") == "2", !utf8Locale(env):
		return canvas.ASCII
	case t == "linux", strings.HasPrefix(t, "vt"):
		return canvas.Safe
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
