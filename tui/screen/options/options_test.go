package options

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/settings"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

// open shows the settings of a file.
func open(t *testing.T, w *screen.World, text string) *Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	filetest.Write(t, path, text, 0o600)
	w.Settings = settings.Open(path)
	s := New()
	screentest.Settle(t, s, w, screentest.NewDaemon(), s.Open(w))
	w.Settings.Path = "/home/ann/.config/cronring/config.toml" // the same in every picture
	for i, p := range w.Settings.Problems {
		w.Settings.Problems[i] = strings.Replace(p, path, w.Settings.Path, 1)
	}
	return s
}

// press presses keys as the shell hands them on, and returns the last effects.
func press(s *Options, w *screen.World, names ...string) (effects []screen.Effect) {
	for _, name := range names {
		text := name
		if len(name) > 1 {
			text = ""
		}
		if s.Typing() {
			effects, _ = s.Type(w, screen.Key{Name: name, Text: text})
			continue
		}
		a, _ := w.Keys.Find(name, s.Scope(), keys.List, keys.Everywhere)
		effects, _ = s.Act(w, a)
	}
	return effects
}

func TestOptionsScreens(t *testing.T) {
	for name, prepare := range map[string]func(w *screen.World) *Options{
		"options": func(w *screen.World) *Options {
			return open(t, w, "theme = \"night\"\nmouse = false\n[keys]\nrun = \"ctrl+e\"\n[themes.night]\n")
		},
		"options-choice": func(w *screen.World) *Options {
			s := open(t, w, "")
			press(s, w, "enter", "right")
			return s
		},
		"options-columns": func(w *screen.World) *Options {
			s := open(t, w, "columns = [\"next\", \"command\"]\n")
			s.Select("columns")
			press(s, w, "enter", "x")
			return s
		},
		"options-keys": func(w *screen.World) *Options {
			s := open(t, w, "")
			s.Select("keys.run")
			press(s, w, "enter", "ctrl+e", "m")
			return s
		},
		"options-problems": func(w *screen.World) *Options {
			return open(t, w, "theme = \"pink\"\nmouse = 1\n[keys]\nrun = \"x\"\nodd = \"x\"\n")
		},
	} {
		draw := func(v canvas.View, w *screen.World) { shelltest.Draw(prepare(w), v, w) }
		if name == "options" {
			screentest.CheckLayouts(t, name, draw)
		} else {
			screentest.Check(t, name, draw)
		}
	}
}

// edited returns the only change of effects.
func edited(t *testing.T, effects []screen.Effect) settings.Edit {
	t.Helper()
	if len(effects) == 1 {
		if e, ok := effects[0].(screen.Set); ok {
			return e.Edit
		}
	}
	t.Fatalf("got %+v, want one change", effects)
	return settings.Edit{}
}

func TestOptionsChangeASetting(t *testing.T) {
	for _, tc := range []struct {
		setting string
		keys    []string
		value   string
	}{
		{"theme", []string{"enter", "right", "enter"}, `"dark"`},
		{"theme", []string{"enter", "left", "enter"}, `"cvd"`},
		{"mouse", []string{"enter", "space", "enter"}, "false"},
		{"refresh", []string{"enter", "ctrl+u", "5", "s", "enter"}, `"5s"`},
		{"columns", append([]string{"enter", "ctrl+u"}, append(strings.Split("next:9 user", ""), "enter")...), `["next:9", "user"]`},
		{"columns", []string{"enter", "ctrl+u", "enter"}, ""},
		{"keys.run", []string{"enter", "ctrl+e", "m", "backspace", "é", "enter"}, `"ctrl+e é"`},
		{"keys.run", []string{"enter", "enter"}, `""`},
		{"mouse", []string{"backspace"}, ""},
	} {
		w := screentest.NewWorld(t)
		s := open(t, w, "mouse = true\n")
		if !s.Select(tc.setting) {
			t.Fatalf("no setting %s", tc.setting)
		}
		if got := edited(t, press(s, w, tc.keys...)); strings.Join(got.Path, ".") != tc.setting || got.Value != tc.value {
			t.Errorf("%s, %v: got %+v, want %s", tc.setting, tc.keys, got, tc.value)
		}
		if s.Typing() {
			t.Errorf("%s, %v: the change has not ended", tc.setting, tc.keys)
		}
	}
}

// A value is shown before it is saved, and esc shows the one before again.
func TestOptionsPreview(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(t, w, "")
	p, ok := press(s, w, "enter", "right")[0].(screen.Preview)
	if !ok || p.File.Theme != "dark" || w.Settings.Theme != "" {
		t.Errorf("got %+v", p)
	}
	if p, ok := press(s, w, "esc")[0].(screen.Preview); !ok || p.File != nil || s.Typing() {
		t.Errorf("esc: got %+v", p)
	}
}

// An invalid value is not saved, and the line to type in stays open and says why.
func TestOptionsRefuseAnInvalidValue(t *testing.T) {
	for setting, keys := range map[string][]string{"refresh": {"0", "enter"}, "keys.run": {"x", "enter"}} {
		w := screentest.NewWorld(t)
		s := open(t, w, "")
		s.Select(setting)
		effects := press(s, w, append([]string{"enter"}, keys...)...)
		if p, ok := effects[0].(screen.Preview); len(effects) != 1 || !ok || p.File != nil || s.change == nil || s.change.why == "" {
			t.Errorf("%s: got %+v", setting, effects)
		}
	}
}

func TestOptionsRefusals(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(t, w, "")
	w.Theme = "dark"
	if s.Select("theme"); s.Current().value(w) != "dark" {
		t.Errorf("theme: got %s, want that of the environment, which is in use", s.Current().value(w))
	}
	for _, tc := range []struct {
		setting string
		action  keys.Action
		want    string
	}{
		{"theme", keys.Open, "CRONRING_THEME overrides it"}, {"mouse", keys.UsualValue, "it has its usual value"},
		{"host", keys.Open, "E opens it"}, {"mouse", keys.Mark, "not on this screen"}, {"mouse", keys.Open, ""},
	} {
		s.Select(tc.setting)
		if got := s.Refuses(w, tc.action); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s of %s: got %q, want %q", tc.action, tc.setting, got, tc.want)
		}
	}
}

// The file is read again when an editor has ended.
func TestOptionsReadAnEditedFile(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(t, w, "")
	path := filepath.Join(t.TempDir(), "config.toml")
	filetest.Write(t, path, "theme = \"dark\"\n", 0o600)
	w.Settings.Path = path
	effects := s.Take(w, screen.Answer{Slot: slotEditor, Err: errors.New("exit status 1")})
	if len(effects) != 2 {
		t.Fatalf("got %+v", effects)
	}
	value, err := effects[1].(screen.Ask).Call(t.Context(), nil)
	adopt, ok := s.Take(w, screen.Answer{Slot: slotFile, Value: value, Err: err})[0].(screen.Adopt)
	if !ok || adopt.File.Theme != "dark" {
		t.Errorf("got %+v", adopt)
	}
}

// A click on a value chooses it. While a value is chosen, the list does not answer.
func TestOptionsClick(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(t, w, "")
	c := canvas.New(80, 22)
	press(s, w, "enter")
	if effects := screentest.ClickOn(t, s, w, c, " times "); effects != nil || s.Current().name() != "theme" {
		t.Errorf("a click on the list: got %v, and the cursor is on %s", effects, s.Current().name())
	}
	if got := edited(t, screentest.ClickOn(t, s, w, c, "light ")); got.Value != `"light"` {
		t.Errorf("got %+v", got)
	}
	screentest.ClickOn(t, s, w, c, " notify ")
	if s.Current().name() != "notify" {
		t.Errorf("the cursor is on %s, want notify", s.Current().name())
	}
}

// The wheel chooses among values, and is not taken for the keys that are being set.
func TestOptionsWheel(t *testing.T) {
	w := screentest.NewWorld(t)
	s := open(t, w, "")
	c := canvas.New(80, 22)
	press(s, w, "enter")
	if screentest.Wheel(s, w, c, 10, 5, 3); s.change.at != 1 {
		t.Errorf("the wheel chose value %d, want 1", s.change.at)
	}
	press(s, w, "esc")
	s.Select("keys.run")
	press(s, w, "enter")
	if !screentest.Wheel(s, w, c, 10, 5, 3) || len(s.change.keys) != 0 {
		t.Errorf("the wheel became the keys %v", s.change.keys)
	}
}
