package tui

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
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

func TestTheExamplesOfTheManualPageAreValid(t *testing.T) {
	page, err := os.ReadFile("../man/cronring-dashboard.7")
	if err != nil {
		t.Fatal(err)
	}
	for section, valid := range map[string]func(s settings.Settings) bool{
		"Settings": func(s settings.Settings) bool { return s.Theme == "light" && !s.Mouse && s.Notify },
		"Custom commands": func(s settings.Settings) bool {
			return len(s.Commands) == 3 && len(custom.Conflicts(s.Commands, keys.Default())) == 0
		},
	} {
		_, after, _ := strings.Cut(string(page), ".Ss "+section+"\n")
		_, after, _ = strings.Cut(after, ".Bd -literal -offset indent\n")
		example, _, ok := strings.Cut(after, ".Ed\n")
		s, errs := settings.Parse(example)
		if !ok || len(errs) > 0 || !valid(s) {
			t.Errorf("%s: %+v %q", section, s, errs)
		}
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
