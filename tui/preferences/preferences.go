// Package preferences owns the settings of the running dashboard, with the saving of changes in their
// order, and the preview of settings that are not saved.
package preferences

import (
	"context"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
)

// Slot is the slot of changes of the settings.
const Slot = "settings"

// Preferences are the settings in use. Those of the file are in the World.
type Preferences struct {
	Notify bool // of failures that begin
	Bell   bool // likewise

	shown  settings.Settings
	edits  []settings.Edit // waiting until the previous edit is written
	saving bool
}

// New uses the settings of a world for the first time. announce turns on all that reports new
// failures.
func New(w *screen.World, announce bool) *Preferences {
	if w.Settings == nil {
		w.Settings = settings.Open("")
	}
	if w.Keys == nil {
		w.Keys = w.Settings.Keys
	}
	p := &Preferences{shown: settings.Default()}
	p.use(w, &w.Settings.Settings)
	p.Notify, p.Bell = p.Notify || announce, p.Bell || announce
	return p
}

// Set changes a setting, and has the file written.
func (p *Preferences) Set(w *screen.World, e settings.Edit) []screen.Effect {
	p.edits = append(p.edits, e)
	return p.next(w)
}

// saved is the answer to a change: what is in the file now, and why the change is not.
type saved struct {
	name string
	file *settings.File
	why  error
}

// next saves the next change that is valid.
func (p *Preferences) next(w *screen.World) (effects []screen.Effect) {
	for !p.saving && len(p.edits) > 0 {
		e := p.edits[0]
		p.edits = p.edits[1:]
		next, err := w.Settings.With(e)
		if err != nil {
			effects = append(p.Preview(w, nil), screen.Toast{Text: err.Error(), Bad: true})
			continue
		}
		p.saving = true
		effects = append(effects, p.Preview(w, next)...)
		effects = append(effects, screen.Ask{Slot: Slot, Call: func(context.Context, screen.Daemon) (any, error) {
			file, err := next.Save()
			if err != nil {
				file = settings.Open(next.Path)
			}
			return saved{strings.Join(e.Path, "."), file, err}, nil
		}})
	}
	return effects
}

// Take uses what is in the file after a change.
func (p *Preferences) Take(w *screen.World, a screen.Answer) []screen.Effect {
	p.saving = false
	result, ok := a.Value.(saved)
	if !ok {
		return p.next(w)
	}
	effects := p.Adopt(w, result.file)
	switch {
	case result.why != nil:
		effects = append(effects, screen.Toast{Text: result.why.Error(), Bad: true})
	case result.file.Path == "":
		effects = append(effects, screen.Toast{Text: "changed " + result.name + " until the dashboard ends"})
	default:
		effects = append(effects, screen.Toast{Text: "saved " + result.name})
	}
	return append(effects, p.next(w)...)
}

// Adopt uses settings that were read again.
func (p *Preferences) Adopt(w *screen.World, f *settings.File) []screen.Effect {
	w.Settings = f
	return p.Preview(w, nil)
}

// Preview shows settings that are not saved; nil: those of the file again.
func (p *Preferences) Preview(w *screen.World, f *settings.File) []screen.Effect {
	if f == nil {
		f = w.Settings
	}
	effects := []screen.Effect{screen.Configure{Settings: f.Settings}}
	if f.Mouse != p.shown.Mouse {
		effects = append(effects, screen.Mouse{On: f.Mouse})
	}
	w.Keys = f.Keys
	p.use(w, &f.Settings)
	return effects
}

// use uses what differs from the settings before. What keys have changed since stays.
func (p *Preferences) use(w *screen.World, f *settings.Settings) {
	old := p.shown
	p.shown = *f
	w.Columns = f.Columns
	w.Clock = display.Clock(slices.Index(settings.Clocks, f.Clock))
	if f.Times != old.Times {
		w.Absolute = f.Times == settings.Times[1]
	}
	if f.Zone != old.Zone {
		w.Zone = screen.ZoneMode(slices.Index(settings.Zones, f.Zone))
	}
	if f.Notify != old.Notify {
		p.Notify = f.Notify
	}
	if f.Bell != old.Bell {
		p.Bell = f.Bell
	}
}
