package files

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Versions lists the versions of a crontab, and how the selected one differs from the
// file.
type Versions struct {
	table.Table[int64, api.Revision]
	revisions table.Rows[int64, api.Revision]
	file      api.CrontabFile
	known     bool
	err       error

	now    string // the text of the file
	read   bool
	peeked int64
	old    *api.Revision // the selected one, with its text
	diff   []change.Line
}

// newVersions lists the versions of a crontab.
func newVersions(t api.CrontabFile) *Versions {
	s := &Versions{file: t, revisions: table.Rows[int64, api.Revision]{Key: func(r *api.Revision) int64 { return r.ID }}}
	s.Table = table.Table[int64, api.Revision]{
		Source: &s.revisions, Left: 3, Titles: canvas.Style{Role: canvas.Title}, In: keys.Files,
		Keys: []keys.Action{keys.Restore, keys.Undo, keys.Help, keys.Back},
		Columns: []table.Column[api.Revision]{{
			Title: " REV  AT          HOW      SIZE", Fill: true,
			Text: func(w *screen.World, r *api.Revision) (string, canvas.Style) {
				return revisionText(w, *r), canvas.Style{}
			},
		}},
	}
	s.OnRow = func(*screen.World) []screen.Effect { return s.peek() }
	return s
}

// Heading names the file.
func (s *Versions) Heading(*screen.World) string { return "Versions of " + change.FileName(&s.file) }

// The slots of its questions.
const (
	slotNow      = "now"
	slotRevision = "revision"
	slotRestored = "restored"
)

// Open requests the versions and the current text.
func (s *Versions) Open(*screen.World) []screen.Effect {
	file := s.file.File
	s.peeked = 0
	return []screen.Effect{askRevisions(file), screen.Ask{Slot: slotNow, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.CrontabText(ctx, file, "") }}}
}

// Refresh has nothing to follow: versions come from changes made elsewhere.
func (s *Versions) Refresh(w *screen.World) []screen.Effect {
	if s.err != nil && w.Link.Live {
		s.err = nil
		return s.Open(w)
	}
	return nil
}

// Take receives versions and texts.
func (s *Versions) Take(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Err != nil {
		if a.Slot != slotRestored {
			s.err = a.Err
		}
		return nil
	}
	switch a.Slot {
	case slotRevisions:
		s.known = true
		s.SetRows(a.Value.([]api.Revision))
		return s.peek()
	case slotNow:
		s.now, s.read = string(a.Value.(api.CrontabText).Text), true
	case slotRevision:
		old := a.Value.(api.Revision)
		s.old = &old
	case slotRestored:
		return s.Open(w)
	}
	if s.old != nil && s.read {
		s.diff = change.DiffTexts(s.now, string(s.old.Text))
	}
	return nil
}

func (s *Versions) peek() []screen.Effect {
	id, ok := s.Cursor()
	if !ok || id == s.peeked {
		return nil
	}
	s.peeked, s.old, s.diff = id, nil, nil
	return []screen.Effect{screen.Ask{Slot: slotRevision, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.Revision(ctx, id) }}}
}

// Act moves, and restores.
func (s *Versions) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Restore, keys.Open:
		return s.restore(), true
	case keys.Filter, keys.Mark, keys.Range, keys.MarkAll:
		return nil, false
	}
	ok := s.Move(a)
	return s.peek(), ok
}

// restore puts the version under the cursor back.
func (s *Versions) restore() []screen.Effect {
	id, ok := s.Cursor()
	if !ok {
		return nil
	}
	name := change.FileName(&s.file)
	d := change.Restore(id, name)
	d.Class, d.Slot = screen.Effects, slotRestored
	d.Question = fmt.Sprintf("Put revision %d of %s back?", id, name)
	d.Detail = []string{change.CountChanges(s.diff)}
	return []screen.Effect{d}
}

func (*Versions) Headed() {}

// Subject returns the file.
func (s *Versions) Subject(*screen.World) screen.Subject { return screen.Subject{File: s.file.File} }

// Refuses returns why a version cannot be restored.
func (s *Versions) Refuses(w *screen.World, a keys.Action) string {
	if a != keys.Restore && a != keys.Open {
		return ""
	}
	switch {
	case w.ReadOnly != "":
		return w.ReadOnly
	case s.revisions.Len() == 0:
		return "no version is selected"
	case s.read && s.old != nil && !s.old.Gone && string(s.old.Text) == s.now:
		return "it equals the current file"
	}
	return ""
}

// Draw draws the versions, and below them what putting one back would change.
func (s *Versions) Draw(v canvas.View, w *screen.World) {
	switch {
	case s.err != nil:
		page.DrawUnknown(v, s.err, w)
		return
	case !s.known:
		v.Put(1, 0, "loading versions", canvas.Style{Role: canvas.Off})
		return
	case s.revisions.Len() == 0:
		v.PutCut(1, 1, v.Width()-2, noVersions(w), w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	top := min(s.revisions.Len(), max(v.Height()/3, 3))
	s.Table.Draw(v.In(0, 0, v.Width(), top+1), w)
	s.drawDiff(v.Below(1+top), w)
}

func (s *Versions) drawDiff(v canvas.View, w *screen.World) {
	page.DrawRule(v.Row(0), fmt.Sprintf("From now to revision %d", s.peeked), w.Glyphs)
	switch {
	case s.old == nil || !s.read:
		v.Put(1, 1, "reading", canvas.Style{Role: canvas.Off})
		return
	case s.old.Gone:
		v.PutCut(1, 1, v.Width()-2, "The file did not exist: restoring this version deletes it.", w.Glyphs.Ellipsis, canvas.Style{})
		return
	case len(s.diff) == 0:
		v.PutCut(1, 1, v.Width()-2, "It equals the current file.", w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	for y, c := range s.diff {
		if y+1 >= v.Height() {
			return
		}
		style := canvas.Style{}
		switch c.Kind {
		case '+':
			style.Role = canvas.Good
		case '-':
			style.Role = canvas.Bad
		default:
			style.Role = canvas.Off
		}
		x := v.Put(1, y+1, string(c.Kind)+" ", style)
		v.Put(x, y+1, edit.Shown(c.Text(), 0, max(v.Width()-x-1, 0)), style)
	}
}

// noVersions explains why no version of a crontab is kept.
func noVersions(w *screen.World) string {
	if w.Status.NoDaemon != "" {
		return "No versions are kept: that needs cronringd."
	}
	return "No versions yet: the first change keeps the current one."
}
