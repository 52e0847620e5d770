// Package editor owns the screen that edits a crontab, and shows what each line does
// before it is saved.
package editor

import (
	"context"
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// maxEdited is the largest crontab that is edited here, in bytes: each key has it
// read again.
const maxEdited = 1 << 20

// Editor edits a crontab, and shows what each line does before it counts.
type Editor struct {
	file string // which; empty: the person's own
	line int    // to begin at, from 1, as the file counts; 0: the first
	adds bool   // begin with a new entry

	crontab api.CrontabText
	known   bool
	err     error
	buffer  *edit.Buffer
	checker *edit.Checker
	checked *edit.Checked
	version int // of the buffer that was checked

	top    int // first line in view
	left   int // first column in view
	height int // lines of text, as drawn last

	about   *crontab.Entry // that the line under the cursor is about
	look    string         // what is asked about it
	outlook *edit.Outlook
	clash   *api.Clash
	clashed bool // it was asked for, and came

	form *form

	blackouts timetable.Blackouts // of the host
	asks      *asking
	saves     bool // a save is under way
}

// New edits the crontab of a subject, or else the user's own. NewEntry begins
// with an entry that is added to it.
func New(w *screen.World, s screen.Subject) *Editor {
	s = w.Placed(s)
	return &Editor{file: s.File, line: s.Line}
}

func NewEntry(w *screen.World, s screen.Subject) *Editor {
	return &Editor{file: room(w, s).File, adds: true}
}

// Scope returns the scope of the editor.
func (*Editor) Scope() keys.Scope { return keys.Editor }

// Heading names the file and how it is.
func (e *Editor) Heading(w *screen.World) string {
	if !e.known {
		return "Edit " + e.name()
	}
	text := "Edit " + e.name()
	if e.buffer.Changed() {
		text += " *"
	}
	if e.crontab.Owner != "" {
		text += fmt.Sprintf("  %s %04o", e.crontab.Owner, e.crontab.Mode)
	}
	if e.crontab.Missing {
		text += "  new"
	}
	if e.crontab.Revision != 0 {
		text += fmt.Sprintf("  revision %d", e.crontab.Revision)
	}
	if e.checked.Errors > 0 {
		text += "  " + w.Glyphs.Failed + " " + display.Count(e.checked.Errors, "error")
	}
	if e.checked.Warnings > 0 {
		text += "  " + w.Glyphs.Late + " " + display.Count(e.checked.Warnings, "warning")
	}
	return text
}

func (*Editor) Headed() {}

func (e *Editor) name() string {
	switch {
	case e.crontab.User != "":
		return "the crontab of " + e.crontab.User
	case e.crontab.File != "":
		return e.crontab.File
	case e.file != "":
		return e.file
	}
	return "your crontab"
}

// Foot returns the keys of the last line.
func (e *Editor) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Save, keys.Try, keys.Back, keys.Problem, keys.Form, keys.UndoText}
}

// The slots of its questions.
const (
	slotCrontab = "crontab"
	slotCheck   = "check"
	slotLook    = "look"
	slotClash   = "clash"
	slotSaved   = "saved"
	slotResave  = "table-saved"
)

// Open reads the file, unless it is open already.
func (e *Editor) Open(*screen.World) []screen.Effect {
	if e.known {
		return nil
	}
	return []screen.Effect{e.read(slotCrontab)}
}

func (e *Editor) read(slot string) screen.Effect {
	file := e.file
	if e.known {
		file = e.crontab.File
	}
	return screen.Ask{Slot: slot, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.CrontabText(ctx, file, "") }}
}

// Take receives the file, and what is found out about it.
func (e *Editor) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch a.Slot {
	case slotCrontab:
		return e.loaded(w, a)
	case slotCheck:
		if a.Err == nil && e.known {
			e.take(a.Value.(seen))
			return e.consider(w)
		}
	case slotLook:
		if l, ok := a.Value.(looked); ok && l.key == e.look {
			e.outlook = &l.outlook
		}
	case slotClash:
		e.tookClash(a)
	case slotSaved:
		return e.saved(a)
	case slotResave:
		return e.reread(w, a)
	}
	return nil
}

func (e *Editor) loaded(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Err != nil {
		e.err = a.Err
		return nil
	}
	t := a.Value.(api.CrontabText)
	if len(t.Text) > maxEdited {
		e.crontab, e.err = t, &api.Error{What: "the file is too large for this editor", Fix: "cronring edit " + t.File}
		return nil
	}
	e.crontab, e.known, e.err = t, true, nil
	e.buffer = edit.NewBuffer(string(t.Text))
	e.checker = edit.NewChecker(&e.crontab, change.LoadZone)
	e.blackouts = e.crontab.HostBlackouts(change.LoadZone)
	e.take(e.see())
	e.buffer.Go(e.line-1-t.Above(), 0)
	if e.adds {
		e.buffer.Go(e.buffer.Len(), 0)
		e.form = e.newForm(nil)
	}
	return e.consider(w)
}

// seen is the result of checking one version of the text.
type seen struct {
	version int
	checked *edit.Checked
}

func (e *Editor) see() seen { return seen{e.buffer.Version(), e.checker.Check(e.buffer.Text())} }

func (e *Editor) take(s seen) { e.checked, e.version = s.checked, s.version }

// check has the text looked at, aside: a large one takes longer than a key may.
func (e *Editor) check() screen.Effect {
	version, text, checker := e.buffer.Version(), e.buffer.Text(), e.checker
	return screen.Ask{Slot: slotCheck, Call: func(context.Context, screen.Daemon) (any, error) { return seen{version, checker.Check(text)}, nil }}
}

// upToDate makes sure that what is known is of the text as it is.
func (e *Editor) upToDate() {
	if e.version != e.buffer.Version() {
		e.take(e.see())
		e.about = e.entry()
	}
}

// Refresh has nothing to follow: the file is the person's own while they edit it.
func (*Editor) Refresh(*screen.World) []screen.Effect { return nil }

// Subject returns the line under the cursor.
func (e *Editor) Subject(*screen.World) screen.Subject {
	if !e.known {
		return screen.Subject{File: e.file, Line: e.line}
	}
	return screen.Subject{File: e.crontab.File, Line: e.buffer.Cursor().Line + 1 + e.crontab.Above()}
}

// Refuses returns why nothing can be saved or run now.
func (e *Editor) Refuses(w *screen.World, a keys.Action) string {
	switch {
	case a == keys.Form && w.ReadOnly != "":
		return w.ReadOnly
	case !e.known:
		if a == keys.Save || a == keys.Try || a == keys.Problem || a == keys.Form {
			return "still loading"
		}
	case a == keys.Save:
		return e.refusesSave()
	case a == keys.Try:
		return e.refusesTry(w)
	case a == keys.Problem && e.checked.Errors+e.checked.Warnings == 0:
		return "there is none"
	}
	return ""
}

// refusesTry returns why the entry at the cursor cannot be run now. Only saved
// entries can be run: each run must belong to an entry that later restarts and lists
// find again.
func (e *Editor) refusesTry(w *screen.World) string {
	if e.upToDate(); e.about == nil {
		return "the line is not an entry"
	}
	_, differs, ok := e.checked.Saved(e.about)
	switch {
	case !ok:
		return "save first: the file has no such entry, and a run must belong to one"
	case len(differs) > 0:
		return "save first: its " + strings.Join(differs, " and ") + " here and in the file differ, and a run must belong to an entry of the file"
	}
	if _, ok := e.tried(w); !ok {
		return "the daemon has not loaded this version of the line: the file might have changed"
	}
	return ""
}

// tried is the job of the line under the cursor, as the daemon has read it.
func (e *Editor) tried(w *screen.World) (job.ID, bool) {
	line, _, _ := e.checked.Saved(e.about)
	row, ok := w.Board.At(e.crontab.File, line+e.crontab.Above())
	command := strings.ReplaceAll(e.about.Command(), "\n", " ")
	if begin, cut := strings.CutSuffix(row.Command, "..."); cut && row.Command != command { // of a long one the board has the beginning
		command = command[:min(len(begin), len(command))] + "..."
	}
	return row.Job, ok && row.Command == command
}

// Act performs the keys that are not text.
func (e *Editor) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a == keys.Back {
		return e.leave()
	}
	if !e.known {
		return nil, false
	}
	switch a {
	case keys.Save:
		return e.save(), true
	case keys.Try:
		id, _ := e.tried(w)
		return []screen.Effect{screen.Press{Action: keys.Run, Subject: screen.Subject{Jobs: []job.ID{id}}}}, true
	case keys.Problem:
		if line, ok := e.checked.NextProblem(e.buffer.Cursor().Line + 1); ok {
			e.buffer.Go(line-1, max(e.checked.Diagnostics(line)[0].Column-1, 0))
		}
		return e.consider(w), true
	case keys.Form:
		e.upToDate()
		e.form = e.newForm(e.about)
		return nil, true
	case keys.UndoText:
		e.buffer.Undo()
	case keys.RedoText:
		e.buffer.Redo()
	default:
		return nil, false
	}
	return append(e.consider(w), e.check()), true
}

// Typing is always so: keys are text.
func (e *Editor) Typing() bool { return e.known }

// Type answers to a key of text.
func (e *Editor) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	switch {
	case e.asks != nil:
		return e.answer(k), true
	case e.form != nil:
		return e.typeForm(w, k), true
	}
	do := edits[k.Name]
	switch {
	case e.move(k.Name):
		return e.consider(w), true
	case do == nil && k.Text == "":
		return nil, false
	case w.ReadOnly != "":
		return []screen.Effect{screen.Toast{Text: w.ReadOnly, Bad: true}}, true
	case do == nil:
		e.buffer.Insert(k.Text)
	default:
		do(e.buffer)
	}
	if e.buffer.Version() == e.version {
		return e.consider(w), true
	}
	return []screen.Effect{e.check()}, true
}

// edits are what keys other than letters do to the text.
var edits = map[string]func(*edit.Buffer){
	"enter":         func(b *edit.Buffer) { b.Insert("\n") },
	"tab":           func(b *edit.Buffer) { b.Insert("\t") },
	"backspace":     (*edit.Buffer).Backspace,
	"ctrl+h":        (*edit.Buffer).Backspace,
	"delete":        (*edit.Buffer).Delete,
	"ctrl+d":        (*edit.Buffer).Delete,
	"ctrl+w":        (*edit.Buffer).DeleteWord,
	"alt+backspace": (*edit.Buffer).DeleteWord,
	"ctrl+u":        (*edit.Buffer).DeleteToStart,
	"ctrl+k":        (*edit.Buffer).DeleteToEnd,
}

// move answers to a key that moves the cursor.
func (e *Editor) move(key string) bool {
	b := e.buffer
	page := max(e.height-1, 1)
	switch key {
	case "left", "ctrl+b":
		b.Left()
	case "right", "ctrl+f":
		b.Right()
	case "up":
		b.Move(-1)
	case "down":
		b.Move(1)
	case "pgup":
		b.Move(-page)
	case "pgdown":
		b.Move(page)
	case "home", "ctrl+a":
		b.Home()
	case "end", "ctrl+e":
		b.End()
	case "ctrl+left", "alt+left", "alt+b":
		b.WordLeft()
	case "ctrl+right", "alt+right", "alt+f":
		b.WordRight()
	case "ctrl+home":
		b.Go(0, 0)
	case "ctrl+end":
		b.Go(b.Len(), 0)
	default:
		return false
	}
	return true
}

// room returns where an entry is added: in the file of the subject, or in the user's own
// crontab if the user must not change that file.
func room(w *screen.World, s screen.Subject) screen.Subject {
	if row, ok := w.Row(s); ok && row.Fixed {
		return screen.Subject{}
	}
	return w.Placed(s)
}
