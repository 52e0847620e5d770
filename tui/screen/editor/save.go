package editor

import (
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/screen"
)

// asking is a question of the editor's own, on its last lines.
type asking struct {
	text  string
	keys  map[string]func() []screen.Effect
	hints []string // those keys and what they do
}

func (e *Editor) refusesSave() string {
	e.upToDate()
	switch {
	case e.saves:
		return "it is being saved"
	case len(e.checked.Blocking) > 0:
		first := e.checked.Blocking[0]
		return fmt.Sprintf("blocked by %s; line %d: %s", display.Count(len(e.checked.Blocking), "new error"), first.Line+e.crontab.Above(), first.Message)
	case !e.buffer.Changed():
		return "nothing is changed"
	}
	return ""
}

// leave asks before it discards changes.
func (e *Editor) leave() ([]screen.Effect, bool) {
	if !e.known || !e.buffer.Changed() {
		return nil, false
	}
	added, changed, removed := e.checked.Count()
	e.asks = &asking{
		text:  fmt.Sprintf("Discard what you changed in %s?  +%d ~%d -%d", e.name(), added, changed, removed),
		hints: []string{"y", "discard", "esc", "continue editing"},
		keys: map[string]func() []screen.Effect{
			"y": func() []screen.Effect {
				e.buffer.Saved()
				return []screen.Effect{screen.Back{}}
			},
		},
	}
	return nil, true
}

// save has the daemon put the text in place. The daemon reports the revision that Undo
// restores.
func (e *Editor) save() []screen.Effect {
	request := api.CrontabFileRequest{File: e.crontab.File, Text: []byte(e.buffer.Text()), Base: e.crontab.Sum}
	e.saves = true
	return []screen.Effect{change.Install(request, e.name(), []string{"cronring", "edit", e.crontab.File}, slotSaved)}
}

// saved continues after a save, or asks which version to keep if the file has changed
// meanwhile.
func (e *Editor) saved(a screen.Answer) []screen.Effect {
	e.saves = false
	if a.Err == nil {
		return []screen.Effect{e.read(slotResave)}
	}
	if api.KindOf(a.Err) == api.Conflict {
		e.asks = &asking{
			text:  e.name() + " was changed by another user in the meantime. Overwrite it, or discard your changes?",
			hints: []string{"o", "overwrite", "t", "discard", "esc", "continue editing"},
			keys: map[string]func() []screen.Effect{
				"o": func() []screen.Effect {
					e.crontab.Sum = ""
					return e.save()
				},
				"t": func() []screen.Effect {
					e.known = false
					return []screen.Effect{e.read(slotCrontab)}
				},
			},
		}
		return []screen.Effect{screen.Toast{}} // the error's message would cover the question
	}
	return nil
}

// reread compares with the file as it is now, and keeps later edits.
func (e *Editor) reread(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Err != nil {
		return nil // the next save finds out
	}
	t := a.Value.(api.CrontabText)
	e.crontab, e.checker = t, edit.NewChecker(&t, change.LoadZone)
	if string(t.Text) == e.buffer.Text() {
		e.buffer.Saved()
	}
	e.take(e.see())
	return e.consider(w)
}

func (e *Editor) answer(k screen.Key) []screen.Effect {
	do, ok := e.asks.keys[k.Name]
	if ok || k.Name == "esc" || k.Name == "n" {
		e.asks = nil
	}
	if !ok {
		return nil
	}
	return do()
}
