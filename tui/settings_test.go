package tui

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/settings"
)

func TestSettingsNameEveryTheme(t *testing.T) {
	if got, want := slices.Sorted(slices.Values(settings.Themes)), slices.Sorted(maps.Keys(themes)); !slices.Equal(got, want) {
		t.Errorf("settings accept %q, the themes are %q", got, want)
	}
}

func TestEnvironmentOverridesTheThemeOfTheSettings(t *testing.T) {
	env := map[string]string{"COLORTERM": "truecolor", "TERM": "xterm"}
	get := func(name string) string { return env[name] }
	light := &settings.Settings{Theme: "light"}
	if l := FindLook(FlagPreferences{TTY: true}, get); l.palette(light).roles != themes["light"] {
		t.Error("the theme is not that of the settings")
	}
	env["CRONRING_THEME"] = "dark"
	if l := FindLook(FlagPreferences{TTY: true}, get); l.palette(light).roles != themes["dark"] {
		t.Error("the theme is not that of the environment")
	}
}

// The page names every screen on which a key can work.
func TestTheManualPageNamesEveryScreen(t *testing.T) {
	page, err := os.ReadFile("../man/cronring-dashboard.7")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(keys.Screens))
	for i, s := range keys.Screens {
		names[i] = string(s)
	}
	last := len(names) - 1
	want := strings.Join(names[:last], ", ") + " or " + names[last] + "."
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("the page does not name the screens %s", want)
	}
}

func TestThemesOfTheSettingsChangeColours(t *testing.T) {
	custom := map[string]settings.Theme{"night": {Base: "dark", Colors: map[canvas.Role]string{canvas.Bad: "#ff8800", canvas.Off: "244"}}}
	got := newPalette(colorprofile.TrueColor, colorsOf("night", custom))
	for role, want := range map[canvas.Role]string{canvas.Bad: "38;2;255;136;0", canvas.Off: "38;5;244", canvas.Good: "38;2;127;216;143"} {
		if text := got.Sequence(canvas.Style{Role: role}); !strings.Contains(text, want) {
			t.Errorf("role %d: got %q, want %s", role, text, want)
		}
	}
	if colorsOf("missing", custom) != themes["ansi"] {
		t.Error("an unknown theme is not the usual one")
	}
}
