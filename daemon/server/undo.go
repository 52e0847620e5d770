package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

func (s *Server) undo(ctx context.Context, c *call.Call) error {
	d, err := s.anyWriter()
	if err != nil {
		return err
	}
	r, err := call.Body[api.UndoRequest](c)
	if err != nil {
		return err
	}
	var p place
	if r.Revision == 0 {
		if r.File == "" && r.User == "" && len(d.Files) > 0 && c.Peer.Admin {
			if r.File, err = d.lastChanged(ctx); err != nil {
				return err
			}
		}
		if d, p, err = s.placeOf(ctx, c, r.File, r.User); err != nil {
			return err
		}
	}
	leave, err := d.enter(ctx, c, -1)
	if err != nil {
		return err
	}
	defer leave()
	end, err := d.pace(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	var target store.Revision
	if r.Revision != 0 {
		target, err = d.revision(ctx, c, "undo to", r.Revision)
	} else {
		target, err = d.previous(ctx, p)
	}
	if err != nil {
		return err
	}
	answer := api.Installed{V: api.Version, User: target.User, File: target.File, Gone: target.Gone, Restored: target.ID}
	if _, ok := d.Places.IsUserCrontab(target.File); !ok {
		err = d.restoreOther(ctx, c, target, &answer)
	} else if d, err = s.hostWriter(); err == nil {
		err = d.restoreUser(ctx, c, target, &answer)
	}
	if err != nil {
		return err
	}
	s.takeIn(ctx, c, &answer)
	return c.Answer(answer)
}

// lastChanged returns the file with the newest change, of a daemon that was started with a list of
// files: it has no user's own crontab.
func (d *crontabWriter) lastChanged(ctx context.Context) (string, error) {
	newest, err := d.Revisions.Revisions(ctx, store.RevisionFilter{})
	if err != nil {
		return "", err
	}
	for _, r := range newest {
		if _, err := d.known(r.File); err == nil {
			return r.File, nil
		}
	}
	return d.Files[0], nil
}

// previous returns the version of the crontab at a place before its newest change.
func (d *crontabWriter) previous(ctx context.Context, p place) (store.Revision, error) {
	now, err := d.see(p)
	if err != nil {
		return store.Revision{}, unread(p, err)
	}
	newest, err := d.Revisions.Revisions(ctx, store.RevisionFilter{File: p.path, Limit: 2})
	if err != nil {
		return store.Revision{}, err
	}
	for _, r := range newest {
		if p.user && r.UID != p.who.UID {
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
		Kind: api.Conflict, What: "cannot undo: no older version of " + p.quoted() + " is known",
		Fix: "cronring undo list --file " + display.Quote(p.path),
	}
}

// restoreUser works like crontab(1). A version that was installed once may be installed again, even
// if this version of cronring reports errors in it.
func (d *crontabWriter) restoreUser(ctx context.Context, c *call.Call, target store.Revision, answer *api.Installed) error {
	who, err := d.owner(ctx, c, target.User)
	if err != nil {
		return err
	}
	if target.Gone {
		return d.remove(ctx, c, who, store.RevisionUndone, answer)
	}
	file, diagnostics := d.parse(target.File, who, string(target.Text))
	if err := fits(who.Name, file, diagnostics); err != nil {
		return err
	}
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	d.mu.Lock()
	defer d.mu.Unlock()
	if old, err := d.look(who); err == nil {
		d.remember(ctx, answer, c.Now, who, old)
	}
	text := d.addHeader(fmt.Sprintf("revision %d", target.ID), string(target.Text), c.Now)
	if err := spool.Install(d.Places, who, text); err != nil {
		return cannot("restore", who, err)
	}
	d.note(ctx, c, "REPLACE", who.Name)
	d.save(ctx, answer, undone(c, target))
	return nil
}

func undone(c *call.Call, target store.Revision) store.Revision {
	return store.Revision{
		File: target.File, User: target.User, UID: target.UID, At: c.Now, By: c.Peer.String(), How: store.RevisionUndone,
		Gone: target.Gone, Text: target.Text,
	}
}

// restoreOther writes a crontab that is not a user's; only admins come here.
func (d *crontabWriter) restoreOther(ctx context.Context, c *call.Call, target store.Revision, answer *api.Installed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := place{path: target.File}
	if old, err := d.see(p); err == nil {
		d.rememberAt(ctx, answer, c.Now, p, old)
	}
	if err := d.write(p, string(target.Text), target.Gone); err != nil {
		return &api.Error{Kind: api.Conflict, What: fmt.Sprintf("cannot undo to revision %d", target.ID), Why: err.Error(), Fix: fmt.Sprintf("cronring undo show %d", target.ID)}
	}
	file, diagnostics := crontab.Parse(target.File, string(target.Text), d.config(p))
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	d.save(ctx, answer, undone(c, target))
	return nil
}
