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
	if r.Revision == 0 {
		target, err = ed.previous(ctx, p)
	} else if target, err = ed.revision(ctx, c, "undo to", r.Revision); err == nil {
		p, err = ed.placeOf(ctx, c, target.File, "")
	}
	if err != nil {
		return err
	}
	answer := api.Installed{V: api.Version, User: target.User, File: target.File, Gone: target.Gone, Restored: target.ID}
	if err := ed.restore(ctx, c, p, target, &answer); err != nil {
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
	of := "--file " + display.Quote(p.path)
	if p.user {
		of = "--user " + display.Quote(p.who.Name)
	}
	return revision.Revision{}, &api.Error{
		Kind: api.Conflict, What: "cannot undo: no older version of " + p.quoted() + " is known", Fix: "cronring undo list " + of,
	}
}

// restore writes a version of a crontab. A version that was installed once may be installed again, even
// if this version of cronring reports errors in it.
func (ed *Editor) restore(ctx context.Context, c *call.Call, p place, target revision.Revision, answer *api.Installed) error {
	text, config := ed.addHeader(p, fmt.Sprintf("revision %d", target.ID), string(target.Text), c.Now), ed.config(p)
	file, diagnostics := crontab.Parse(target.File, text, config)
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.see(p)
	if target.Gone && old.missing && p.user {
		return nothingAt(p)
	}
	if target.Gone {
		file, _ = crontab.Parse(p.path, old.body, config)
	}
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	if err == nil {
		ed.remember(ctx, answer, c.Now, p, old)
	}
	next := p.revision(c, revision.Undone, target.Text)
	next.Gone = target.Gone
	if !target.Gone { // the text may be of an earlier user with the same name
		next.User, next.UID = target.User, target.UID
	}
	if err := ed.put(ctx, c, p, text, next, "undo", answer); err != nil {
		return cannot("restore", p, err)
	}
	return nil
}
