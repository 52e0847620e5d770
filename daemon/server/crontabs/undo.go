package crontabs

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
	"github.com/cronring/cronring/daemon/store/revision"
)

// Undo restores an earlier version of a crontab.
func (ed *Editor) Undo(ctx context.Context, c *call.Call) error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	r, err := call.Body[api.UndoRequest](c)
	if err != nil {
		return err
	}
	var p place
	if r.Revision == 0 {
		if r.File == "" && r.User == "" && len(ed.Files) > 0 && c.Peer.Admin {
			if r.File, err = ed.lastChanged(ctx); err != nil {
				return err
			}
		}
		if p, err = ed.placeOf(ctx, c, r.File, r.User); err != nil {
			return err
		}
	}
	leave, err := ed.large.enter(ctx, c, -1)
	if err != nil {
		return err
	}
	defer leave()
	end, err := ed.pace(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	var target revision.Revision
	if r.Revision != 0 {
		target, err = ed.revision(ctx, c, "undo to", r.Revision)
	} else {
		target, err = ed.previous(ctx, p)
	}
	if err != nil {
		return err
	}
	answer := api.Installed{V: api.Version, User: target.User, File: target.File, Gone: target.Gone, Restored: target.ID}
	if _, ok := ed.Paths.IsUserCrontab(target.File); !ok {
		err = ed.restoreOther(ctx, c, target, &answer)
	} else if err = ed.checkUsers(); err == nil {
		err = ed.restoreUser(ctx, c, target, &answer)
	}
	if err != nil {
		return err
	}
	ed.awaitReload(ctx, c, &answer)
	return c.Answer(answer)
}

// lastChanged returns the file with the newest change, of a daemon that was started with a list of
// files: it has no user's own crontab.
func (ed *Editor) lastChanged(ctx context.Context) (string, error) {
	newest, err := ed.Revisions.Revisions(ctx, revision.Filter{})
	if err != nil {
		return "", err
	}
	for _, r := range newest {
		if _, err := ed.known(r.File); err == nil {
			return r.File, nil
		}
	}
	return ed.Files[0], nil
}

// previous returns the version of the crontab at a place before its newest change.
func (ed *Editor) previous(ctx context.Context, p place) (revision.Revision, error) {
	now, err := ed.see(p)
	if err != nil {
		return revision.Revision{}, cannot("read", p, err)
	}
	newest, err := ed.Revisions.Revisions(ctx, revision.Filter{File: p.path, Limit: 2})
	if err != nil {
		return revision.Revision{}, err
	}
	for _, r := range newest {
		if p.user && r.UID != p.who.UID {
			break // the name was another's then
		}
		full, ok, err := ed.Revisions.Revision(ctx, r.ID)
		if err != nil || !ok {
			return full, errors.Join(err, fs.ErrNotExist)
		}
		if full.Gone != now.missing || string(full.Text) != now.body {
			return full, nil
		}
	}
	return revision.Revision{}, &api.Error{
		Kind: api.Conflict, What: "cannot undo: no older version of " + p.quoted() + " is known",
		Fix: "cronring undo list --file " + display.Quote(p.path),
	}
}

// restoreUser works like crontab(1). A version that was installed once may be installed again, even
// if this version of cronring reports errors in it.
func (ed *Editor) restoreUser(ctx context.Context, c *call.Call, target revision.Revision, answer *api.Installed) error {
	p, err := ed.owner(ctx, c, target.User)
	if err != nil {
		return err
	}
	if target.Gone {
		return ed.remove(ctx, c, p, revision.Undone, answer)
	}
	text := ed.addHeader(fmt.Sprintf("revision %d", target.ID), string(target.Text), c.Now)
	file, diagnostics := ed.parse(target.File, p.who, text)
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	ed.mu.Lock()
	defer ed.mu.Unlock()
	if old, err := ed.see(p); err == nil {
		ed.remember(ctx, answer, c.Now, p, old)
	}
	if err := spool.Install(ed.Paths, p.who, text); err != nil {
		return cannot("restore", p, err)
	}
	ed.note(ctx, c, "REPLACE", p.who.Name)
	p.did(c, "undo", answer, ed.save(ctx, answer, undone(c, target)))
	return nil
}

func undone(c *call.Call, target revision.Revision) revision.Revision {
	return revision.Revision{
		File: target.File, User: target.User, UID: target.UID, At: c.Now, By: c.Peer.String(), How: revision.Undone,
		Gone: target.Gone, Text: target.Text,
	}
}

// restoreOther writes a crontab that is not a user's; only admins come here.
func (ed *Editor) restoreOther(ctx context.Context, c *call.Call, target revision.Revision, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	p := place{path: target.File}
	if old, err := ed.see(p); err == nil {
		ed.remember(ctx, answer, c.Now, p, old)
	}
	if err := ed.write(p, string(target.Text), target.Gone); err != nil {
		return &api.Error{Kind: api.Conflict, What: fmt.Sprintf("cannot undo to revision %d", target.ID), Why: err.Error(), Fix: fmt.Sprintf("cronring undo show %d", target.ID)}
	}
	file, diagnostics := crontab.Parse(target.File, string(target.Text), ed.config(p))
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	p.did(c, "undo", answer, ed.save(ctx, answer, undone(c, target)))
	return nil
}
