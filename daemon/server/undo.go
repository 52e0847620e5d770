package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

func (s *Server) undo(ctx context.Context, c *call) error {
	d, err := s.hostDesk()
	if err != nil {
		return err
	}
	r, err := body[api.UndoRequest](c)
	if err != nil {
		return err
	}
	leave, err := d.enter(ctx, c, -1)
	if err != nil {
		return err
	}
	defer leave()
	var target store.Revision
	if r.Revision != 0 {
		target, err = d.revision(ctx, c, "undo to", r.Revision)
	} else {
		target, err = d.previous(ctx, c, r.User)
	}
	if err != nil {
		return err
	}
	answer := api.Installed{V: api.Version, User: target.User, File: target.File, Gone: target.Gone, Restored: target.ID}
	if _, ok := d.Places.IsUserTable(target.File); ok {
		err = d.restoreUser(ctx, c, target, &answer)
	} else {
		err = d.restoreSystem(ctx, c, target, &answer)
	}
	if err != nil {
		return err
	}
	s.takeIn(ctx, c, &answer)
	return c.answer(answer)
}

// previous is what a user's table was before its newest change.
func (d *desk) previous(ctx context.Context, c *call, user string) (store.Revision, error) {
	who, err := d.owner(ctx, c, user)
	if err != nil {
		return store.Revision{}, err
	}
	now, err := d.look(who)
	if err != nil {
		return store.Revision{}, cannot("read", who, err)
	}
	newest, err := d.Revisions.Revisions(ctx, store.RevisionFilter{File: now.path, Limit: 2})
	if err != nil {
		return store.Revision{}, err
	}
	for _, r := range newest {
		if r.UID != who.UID {
			break // the name was another's then
		}
		full, ok, err := d.Revisions.Revision(ctx, r.ID)
		if err != nil || !ok {
			return full, errors.Join(err, fs.ErrNotExist)
		}
		if full.Gone != now.missing || string(full.Text) != now.body {
			return full, nil
		}
	}
	return store.Revision{}, &api.Error{
		Kind: api.Conflict, What: "cannot undo: no older version of the crontab of " + who.Name + " is known",
		Fix: "cronring revisions --user " + quote(who.Name),
	}
}

// restoreUser goes the way of crontab(1). What was installed once may be
// installed again, whatever this version thinks of its lines.
func (d *desk) restoreUser(ctx context.Context, c *call, target store.Revision, answer *api.Installed) error {
	who, err := d.owner(ctx, c, target.User)
	if err != nil {
		return err
	}
	if target.Gone {
		return d.remove(ctx, c, who, store.RevisionUndone, answer)
	}
	table, remarks := d.parse(target.File, who, string(target.Text))
	answer.Entries, answer.Remarks = len(table.Entries), api.NewDiagnostics(remarks)
	d.mu.Lock()
	defer d.mu.Unlock()
	if old, err := d.look(who); err == nil {
		d.remember(ctx, answer, c.now, who, old)
	}
	text := d.dress(fmt.Sprintf("revision %d", target.ID), string(target.Text), c.now)
	if err := spool.Install(d.Places, who, text); err != nil {
		return cannot("restore", who, err)
	}
	d.note(ctx, c, "REPLACE", who.Name)
	d.save(ctx, answer, undone(c, target))
	return nil
}

func undone(c *call, target store.Revision) store.Revision {
	return store.Revision{
		File: target.File, User: target.User, UID: target.UID, At: c.now, By: c.peer.String(), How: store.RevisionUndone,
		Gone: target.Gone, Text: target.Text,
	}
}

// restoreSystem writes a table of the system; only keepers come here.
func (d *desk) restoreSystem(ctx context.Context, c *call, target store.Revision, answer *api.Installed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Lstat(target.File)
	gone := errors.Is(err, fs.ErrNotExist)
	var text string
	if err == nil && info.Mode().IsRegular() {
		text, err = spool.Read(target.File)
	}
	if err == nil || gone {
		answer.Before = d.save(ctx, answer, store.Revision{
			File: target.File, User: target.User, UID: target.UID, At: c.now, How: store.RevisionSeen,
			Gone: gone, Text: []byte(text),
		})
	}
	if err := d.writeSystem(target); err != nil {
		return &api.Error{Kind: api.Conflict, What: fmt.Sprintf("cannot undo to revision %d", target.ID), Why: err.Error(), Fix: fmt.Sprintf("cronring revisions %d", target.ID)}
	}
	config := d.Host.Config(target.File, target.File != d.Places.Anacrontab)
	table, remarks := crontab.Parse(target.File, string(target.Text), config)
	answer.Entries, answer.Remarks = len(table.Entries), api.NewDiagnostics(remarks)
	d.save(ctx, answer, undone(c, target))
	return nil
}

func (d *desk) writeSystem(target store.Revision) error {
	if !target.Gone {
		return spool.Restore(d.Places, target.File, string(target.Text))
	}
	err := spool.Withdraw(d.Places, target.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
