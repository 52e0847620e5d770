// Package options owns the screen that shows the settings of the dashboard and changes them.
package options

import (
	"context"
	"os/exec"
	"strings"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/jobs"
	"github.com/cronring/cronring/tui/settings"
	"github.com/cronring/cronring/tui/table"
)

// Options lists the settings and, below them, the jobs as the settings show them.
type Options struct {
	table.Table[string, row]
	rows   table.Rows[string, row]
	jobs   *jobs.Jobs
	change *change // nil: none
}

// row is a setting. A row without an option shows the keys of an action, or a setting that only the
// file can change.
type row struct {
	path   []string
	option *settings.Option
	action keys.Action
	help   string
	fixed  func(s *settings.Settings) string // value of a setting that only the file changes
}

func (r *row) name() string { return strings.Join(r.path, ".") }

// value returns the current value.
func (r *row) value(w *screen.World) string {
	switch {
	case overridden(w, r):
		return w.Theme
	case r.option != nil:
		return r.option.Text(&w.Settings.Settings)
	case r.fixed != nil:
		return r.fixed(&w.Settings.Settings)
	}
	b, _ := w.Settings.Keys.Binding(r.action)
	return strings.Join(b.Keys, " ")
}

const (
	slotFile   = "file"
	slotEditor = "editor"
)

// New makes the screen.
func New() *Options {
	s := &Options{jobs: jobs.New(), rows: table.Rows[string, row]{
		Key:   func(r *row) string { return r.name() },
		Words: func(r *row) string { return r.name() + " " + r.help },
	}}
	s.Table = table.Table[string, row]{
		Source: &s.rows, Left: 1, Titles: table.TitleStyle, In: keys.Options, ToFirst: true,
		Keys: []keys.Action{keys.Open, keys.UsualValue, keys.EditSettings, keys.Filter, keys.Back, keys.Help},
		Refused: table.Refuse("not on this screen",
			keys.Mark, keys.Range, keys.MarkAll, keys.States, keys.Views, keys.Wide, keys.Sort, keys.Reverse),
		Columns: []table.Column[row]{
			{Title: "SETTING", Width: 23, Text: table.Plain((*row).name)},
			{Title: "VALUE", Width: 15, Grow: 25, Text: func(w *screen.World, r *row) (string, canvas.Style) { return r.value(w), canvas.Style{Bold: true} }},
			{Title: "FROM", Width: 7, From: screen.FullWidth, Text: fromText},
			{Title: "WHAT IT IS", Width: 12, Least: 72, From: screen.FullWidth, Fill: true, Text: table.Plain(func(r *row) string { return r.help })},
		},
	}
	s.Refused[keys.ShowOptions] = "these are they"
	s.SetRows(allRows())
	return s
}

// allRows returns the settings in their order.
func allRows() []row {
	var all []row
	for i := range settings.Options {
		o := &settings.Options[i]
		all = append(all, row{path: []string{o.Name}, option: o, help: o.Help})
	}
	all = append(all,
		row{path: []string{"themes"}, help: "themes of your own", fixed: func(s *settings.Settings) string { return display.Count(len(s.Custom), "theme") }},
		row{path: []string{"command"}, help: "commands of your own on keys", fixed: func(s *settings.Settings) string { return display.Count(len(s.Commands), "command") }},
		row{path: []string{"host"}, help: "hosts on the screen of hosts", fixed: func(s *settings.Settings) string { return display.Count(len(s.Hosts), "host") }})
	for _, b := range keys.Default().All() {
		if b.Action != keys.Quit {
			all = append(all, row{path: []string{"keys", string(b.Action)}, action: b.Action, help: string(b.Scope) + ": " + b.Long})
		}
	}
	return all
}

// fromText returns the source of the value of a setting.
func fromText(w *screen.World, r *row) (string, canvas.Style) {
	switch {
	case overridden(w, r):
		return "shell", canvas.Style{Role: canvas.Doubt}
	case w.Settings.IsWrong(r.path...):
		return "wrong", canvas.Style{Role: canvas.Bad, Bold: true}
	case w.Settings.IsSet(r.path...):
		return "file", canvas.Style{}
	}
	return "usual", canvas.Style{Role: canvas.Off}
}

// overridden reports a setting that a variable of the environment overrides.
func overridden(w *screen.World, r *row) bool { return w.Theme != "" && r.name() == "theme" }

// Heading names the file.
func (*Options) Heading(w *screen.World) string {
	if w.Settings.Path == "" {
		return "Options (not saved)"
	}
	return "Options: " + w.Settings.Path
}

// Headed keeps the heading on narrow screens.
func (*Options) Headed() {}

// Open reads the file again, because an editor may have changed it.
func (s *Options) Open(w *screen.World) []screen.Effect {
	effects := s.ofJobs(w, func() []screen.Effect {
		at, opened := w.At, s.jobs.Open(w)
		return append(opened, s.jobs.Seek(w, at)...)
	})
	return append(effects, reread(w))
}

// ofJobs performs an operation on the list of jobs. The list is only a preview, so its cursor does not
// move the cursor of other lists.
func (s *Options) ofJobs(w *screen.World, do func() []screen.Effect) []screen.Effect {
	at, query := w.At, w.Query
	effects := do()
	w.At, w.Query = at, query
	return effects
}

func reread(w *screen.World) screen.Effect {
	path := w.Settings.Path
	return screen.Ask{Slot: slotFile, Call: func(context.Context, screen.Daemon) (any, error) {
		if path == "" {
			return nil, nil
		}
		return settings.Open(path), nil
	}}
}

// Take receives the file, and answers for the list of jobs.
func (s *Options) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotEditor:
		if a.Err != nil {
			return []screen.Effect{screen.Toast{Text: "the editor ended: " + a.Err.Error(), Bad: true}, reread(w)}
		}
		return []screen.Effect{reread(w)}
	case slotFile:
		if file, ok := a.Value.(*settings.File); ok {
			return []screen.Effect{screen.Adopt{File: file}}
		}
		return nil
	}
	return s.ofJobs(w, func() []screen.Effect { return s.jobs.Take(w, a) })
}

// Refresh updates the list of jobs.
func (s *Options) Refresh(w *screen.World) []screen.Effect {
	return s.ofJobs(w, func() []screen.Effect { return s.jobs.Refresh(w) })
}

// Act moves and filters, and begins to change a setting.
func (s *Options) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	r := s.Current()
	switch a {
	case keys.Open:
		s.change = newChange(w, r)
		return nil, true
	case keys.UsualValue:
		return []screen.Effect{screen.Set{Edit: settings.Edit{Path: r.path}}}, true
	case keys.EditSettings:
		path := w.Settings.Path
		return []screen.Effect{screen.Execute{Slot: slotEditor, Program: func() *exec.Cmd { return editor(path) }}}, true
	}
	return nil, s.Move(a)
}

// editor returns the user's editor with a file, whose directory may be missing.
func editor(path string) *exec.Cmd {
	return exec.Command("/bin/sh", "-c", `mkdir -p "$(dirname "$1")" && exec ${VISUAL:-${EDITOR:-vi}} "$1"`, "sh", path)
}

// Subject returns an empty subject: the jobs are only an example.
func (*Options) Subject(*screen.World) screen.Subject { return screen.Subject{} }

// Refuses returns why a key does nothing here.
func (s *Options) Refuses(w *screen.World, a keys.Action) string {
	if a == keys.EditSettings && w.Settings.Path == "" {
		return "the settings are not in a file"
	}
	if a != keys.Open && a != keys.UsualValue {
		return s.Table.Refuses(w, a)
	}
	switch r := s.Current(); {
	case r == nil:
		return "nothing is selected"
	case r.fixed != nil:
		return r.name() + " is only changed in the file: " + w.KeyOf(keys.EditSettings) + " opens it"
	case overridden(w, r):
		return "the variable CRONRING_THEME overrides it"
	case a == keys.UsualValue && !w.Settings.IsSet(r.path...):
		return "it has its usual value"
	}
	return ""
}

// Typing reports that a setting is changed or the filter is typed.
func (s *Options) Typing() bool { return s.change != nil || s.Table.Typing() }

// Type handles a key for the change or the filter.
func (s *Options) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	if s.change == nil {
		return s.Table.Type(w, k)
	}
	return s.end(s.change.key(w, k)), true
}

// end ends the change, if it has ended, and returns its effects.
func (s *Options) end(effects []screen.Effect, ended bool) []screen.Effect {
	if ended {
		s.change = nil
	}
	return effects
}
