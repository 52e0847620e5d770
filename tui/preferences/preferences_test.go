package preferences

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/settings"
)

// withFile returns the preferences of a file.
func withFile(t *testing.T, text string) (*Preferences, *screen.World, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	filetest.Write(t, path, text, 0o600)
	w := screentest.NewWorld(t)
	w.Settings, w.Keys = settings.Open(path), nil
	return New(w, false), w, path
}

// saveAll carries out effects until nothing is left to save, and returns the last message and what the
// terminal shows in the end.
func saveAll(t *testing.T, p *Preferences, w *screen.World, effects []screen.Effect) (said screen.Toast, shown settings.Settings) {
	t.Helper()
	for len(effects) > 0 {
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case screen.Configure:
			shown = e.Settings
		case screen.Toast:
			said = e
		case screen.Ask:
			value, err := e.Call(t.Context(), nil)
			effects = append(effects, p.Take(w, screen.Answer{Slot: e.Slot, Value: value, Err: err, Done: true})...)
		}
	}
	return said, shown
}

func theme(name string) settings.Edit { return settings.Options[0].To(name) }

// Changes that follow each other quickly are all saved.
func TestChangesAreSaved(t *testing.T) {
	p, w, path := withFile(t, "# mine\n")
	effects := p.Set(w, theme("dark"))
	effects = append(effects, p.Set(w, theme("light"))...)
	effects = append(effects, p.Set(w, settings.KeysTo("run", []string{"E"}))...)
	said, shown := saveAll(t, p, w, effects)
	if text, _ := os.ReadFile(path); string(text) != "# mine\ntheme = \"light\"\n\n[keys]\nrun = \"E\"\n" {
		t.Errorf("got %q", text)
	}
	if shown.Theme != "light" || said.Text != "saved keys.run" || said.Bad {
		t.Errorf("the terminal shows %q, and %+v", shown.Theme, said)
	}
	if a, _ := w.Keys.Find("E", keys.Subject); a != keys.Run {
		t.Errorf("E is %q", a)
	}
}

// After a change that is not saved, the dashboard is as the file is.
func TestChangesThatAreNotSavedAreNotUsed(t *testing.T) {
	p, w, path := withFile(t, "")
	effects := p.Set(w, theme("dark"))
	filetest.Write(t, path, "theme = \"cvd\"\n", 0o600)
	said, shown := saveAll(t, p, w, effects)
	if shown.Theme != "cvd" || w.Settings.Theme != "cvd" || !strings.Contains(said.Text, "was changed by another program") || !said.Bad {
		t.Errorf("the terminal shows %q, and %+v", shown.Theme, said)
	}
	said, shown = saveAll(t, p, w, p.Set(w, theme("pink")))
	if shown.Theme != "cvd" || !strings.Contains(said.Text, "invalid theme") || p.saving {
		t.Errorf("invalid: the terminal shows %q, and %+v", shown.Theme, said)
	}
}

// Without a file, as in the demo, changes hold until the end.
func TestChangesWithoutAFile(t *testing.T) {
	w := screentest.NewWorld(t)
	p := New(w, false)
	said, shown := saveAll(t, p, w, p.Set(w, theme("dark")))
	if shown.Theme != "dark" || w.Settings.Theme != "dark" || said.Text != "changed theme until the dashboard ends" {
		t.Errorf("the terminal shows %q, and %+v", shown.Theme, said)
	}
}

// A preview changes what is shown, and not what keys have changed since.
func TestPreview(t *testing.T) {
	p, w, _ := withFile(t, "times = \"absolute\"\nclock = \"12h\"\nbell = true\n")
	if !w.Absolute || w.Clock != display.Clock12 || !p.Bell || p.Notify {
		t.Errorf("at the start: %+v", p.shown)
	}
	w.Absolute = false // by a key
	next, err := w.Settings.With(settings.ColumnsTo([]settings.Column{{Name: "user"}}))
	if err != nil {
		t.Fatal(err)
	}
	p.Preview(w, next)
	if w.Absolute || len(w.Columns) != 1 {
		t.Errorf("previewed: absolute %v, columns %v", w.Absolute, w.Columns)
	}
	p.Preview(w, nil)
	if w.Absolute || len(w.Columns) != 0 {
		t.Errorf("taken back: absolute %v, columns %v", w.Absolute, w.Columns)
	}
}

func TestAdoptUsesWhatDiffers(t *testing.T) {
	p, w, path := withFile(t, "")
	filetest.Write(t, path, "zone = \"utc\"\nmouse = false\nnotify = true\n", 0o600)
	mouse := 0
	for _, e := range p.Adopt(w, settings.Open(path)) {
		if e, ok := e.(screen.Mouse); ok && !e.On {
			mouse++
		}
	}
	if w.Zone != screen.ZoneUTC || mouse != 1 || !p.Notify || p.Bell {
		t.Errorf("zone %v, mouse off %d times, notify %v, bell %v", w.Zone, mouse, p.Notify, p.Bell)
	}
}

// The flag turns on bell and notification, whatever the settings say.
func TestFlagAnnounces(t *testing.T) {
	if p := New(screentest.NewWorld(t), true); !p.Notify || !p.Bell {
		t.Errorf("notify %v, bell %v", p.Notify, p.Bell)
	}
}
