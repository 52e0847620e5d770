package tui

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/settings"
)

func TestSettingsNameEveryTheme(t *testing.T) {
	if got, want := slices.Sorted(slices.Values(settings.Themes)), slices.Sorted(maps.Keys(themes)); !slices.Equal(got, want) {
		t.Errorf("settings accept %q, the themes are %q", got, want)
	}
}

func TestEnvironmentOverridesTheThemeOfTheSettings(t *testing.T) {
	env := map[string]string{}
	get := func(name string) string { return env[name] }
	if l := FindLook(Wishes{Theme: "light"}, get); l.theme != "light" {
		t.Errorf("theme %q", l.theme)
	}
	env["CRONRING_THEME"] = "dark"
	if l := FindLook(Wishes{Theme: "light"}, get); l.theme != "dark" {
		t.Errorf("theme %q", l.theme)
	}
}

func TestTheExampleOfTheManualPageIsValid(t *testing.T) {
	page, err := os.ReadFile("../man/cronring-dashboard.7")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), ".Ss Settings\n")
	_, after, _ = strings.Cut(after, ".Bd -literal -offset indent\n")
	example, _, ok := strings.Cut(after, ".Ed\n")
	s, errs := settings.Parse(example)
	if !ok || len(errs) > 0 || s.Theme != "light" || s.Mouse || !s.Notify {
		t.Errorf("%+v %q", s, errs)
	}
}
