package shell

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
)

// versionSlot is the slot of the previous version of a file.
const versionSlot = "version"

// version is a search for the version to restore.
type version struct {
	file    string
	crontab api.CrontabText
	old     api.Revision
}

// takeBack undoes the last change of this dashboard, or if there is none, the last
// change of the selected file by any user.
func (s *Shell) takeBack() {
	if n := len(s.undo); n > 0 {
		last := s.undo[n-1]
		s.begin(waiting{do: *last, undo: last})
		return
	}
	v := &version{file: s.w.Placed(s.front().Subject(s.w)).File}
	s.sought = v
	s.showMessage("looking for what " + v.file + " said before")
	s.order(nil, screen.Ask{Slot: versionSlot, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return v, v.find(ctx, d) }})
}

// refusesUndo returns why nothing can be undone, or "".
func (s *Shell) refusesUndo(about screen.Subject) string {
	for _, w := range s.waiting {
		if w.undo != nil {
			return "the last undo is not finished"
		}
	}
	if len(s.undo) > 0 {
		return ""
	}
	if about = s.w.Placed(about); about.File == "" {
		return "nothing was changed here that can be undone, and no file is selected"
	}
	return s.w.Denied(keys.Edit, about)
}

// find finds the newest version that the file does not have now.
func (v *version) find(ctx context.Context, d screen.Daemon) (err error) {
	const few = 10
	if v.crontab, err = d.CrontabText(ctx, v.file, ""); err != nil {
		return err
	}
	all, err := d.Revisions(ctx, api.RevisionQuery{File: v.crontab.File, Limit: few})
	if err != nil {
		return err
	}
	for _, r := range all {
		if v.old, err = d.Revision(ctx, r.ID); err != nil {
			return err
		}
		if v.old.Gone != v.crontab.Missing || string(v.old.Text) != string(v.crontab.Text) {
			return nil
		}
	}
	return &api.Error{Kind: api.NotFound, What: "cannot undo: no other version of " + v.file + " is kept", Fix: "cronring undo list --file " + display.Quote(v.file)}
}

// tookVersion asks whether to restore the version, unless another key was pressed
// meanwhile: the question must not catch it.
func (s *Shell) tookVersion(a screen.Answer) {
	v, ok := a.Value.(*version)
	if !ok || s.sought != v {
		return
	}
	s.sought = nil
	if a.Err != nil {
		s.warn(plainError(a.Err))
		return
	}
	name := change.FileName(&v.crontab.CrontabFile)
	d := change.Restore(v.old.ID, name)
	d.Class, d.Question = screen.Effects, fmt.Sprintf("Put revision %d of %s back?", v.old.ID, name)
	if v.old.Gone {
		d.Question = fmt.Sprintf("Take %s away, as it was not there before?", name)
	}
	d.Detail = []string{change.CountChanges(change.DiffTexts(string(v.crontab.Text), string(v.old.Text)))}
	if v.crontab.By != "" {
		d.Detail = append(d.Detail, fmt.Sprintf("Last changed by %s, %s.", v.crontab.By, s.w.Stamp(v.crontab.Changed, "")))
	}
	s.confirm(nil, d)
}
