package crontabs

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/revision"
)

// Show answers with the crontab of a user.
func (ed *Editor) Show(ctx context.Context, c *call.Call) error {
	if err := ed.checkUsers(); err != nil {
		return err
	}
	edit, err := c.Flag("edit")
	if err != nil {
		return err
	}
	header, err := c.Flag("header")
	if err != nil {
		return err
	}
	who, err := ed.owner(ctx, c, c.Query.Get("user"))
	if err != nil {
		return err
	}
	word := "LIST"
	if edit {
		word = "BEGIN EDIT"
	}
	ed.note(ctx, c, word, who.Name)
	path, err := ed.Places.UserCrontab(who.Name)
	if err != nil {
		return err
	}
	leave, err := ed.large.enter(ctx, c, sizeOf(path))
	if err != nil {
		return err
	}
	defer leave()
	t, err := ed.look(who)
	if err != nil {
		return cannot("read", who, err)
	}
	text := t.body
	if header {
		text = t.raw
	}
	return c.Answer(api.Crontab{
		V: api.Version, User: who.Name, File: t.path, Missing: t.missing, Text: []byte(text), Sum: t.sum(),
	})
}

// askedFor returns the user whose crontab a request is about that names no file.
func (ed *Editor) askedFor(ctx context.Context, c *call.Call) (who account.Account, err error) {
	if err := ed.checkUsers(); err != nil {
		return who, err
	}
	r, err := call.Body[api.UserRequest](c)
	if err != nil {
		return who, err
	}
	return ed.owner(ctx, c, r.User)
}

// EndEdit logs that a user has edited a crontab.
func (ed *Editor) EndEdit(ctx context.Context, c *call.Call) error {
	who, err := ed.askedFor(ctx, c)
	if err != nil {
		return err
	}
	ed.note(ctx, c, "END EDIT", who.Name)
	return c.Answer(api.Crontab{V: api.Version, User: who.Name})
}

// Install replaces the crontab of a user.
func (ed *Editor) Install(ctx context.Context, c *call.Call) error {
	if err := ed.checkUsers(); err != nil {
		return err
	}
	end, err := ed.enterInstall(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	r, err := call.BodyOf[api.InstallRequest](c, maxInstall)
	if err != nil {
		return err
	}
	who, err := ed.owner(ctx, c, r.User)
	if err != nil {
		return err
	}
	file, diagnostics := ed.parse(r.File, who, string(r.Text))
	if err := fits(who.Name, file, diagnostics); err != nil {
		return err
	}
	if err := flawless(who.Name, diagnostics); err != nil {
		return err
	}
	answer := api.Installed{
		V: api.Version, User: who.Name, Entries: len(file.Entries), Diagnostics: api.NewDiagnostics(diagnostics),
	}
	if err := ed.install(ctx, c, who, r, &answer); err != nil {
		return err
	}
	ed.note(ctx, c, "REPLACE", who.Name)
	ed.takeIn(ctx, c, &answer)
	return c.Answer(answer)
}

// flawless refuses a table with an error, as crontab(1) always has: the daemon
// would run the good lines, but here is a person who can mend the others.
func flawless(user string, diagnostics []crontab.Diagnostic) error {
	n, first := 0, ""
	for _, d := range diagnostics {
		if d.Severity == crontab.Error {
			if n++; n == 1 {
				first = d.Error()
			}
		}
	}
	if n == 0 {
		return nil
	}
	why := first
	if n > 1 {
		why = fmt.Sprintf("%d errors, the first: %s", n, first)
	}
	return &api.Error{Kind: api.Usage, What: "errors in the crontab of " + user + ", it is not installed", Why: why, Fix: "cronring lint FILE"}
}

// install replaces the crontab of a user, and stores the previous version.
func (ed *Editor) install(ctx context.Context, c *call.Call, who account.Account, r api.InstallRequest, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.look(who)
	if answer.File = old.path; r.Base != "" {
		if err != nil {
			return cannot("read", who, err)
		}
		if r.Base != old.sum() {
			return &api.Error{
				Kind: api.Conflict, What: "the crontab of " + who.Name + " was changed meanwhile",
				Why: "it does not say what it said when this edit began", Fix: "cronring undo list --user " + display.Quote(who.Name),
			}
		}
	}
	if err == nil { // an unreadable file, which another user may have planted, is not stored
		ed.remember(ctx, answer, c.Now, place{old.path, true, who}, old)
	}
	if err := spool.Install(ed.Places, who, ed.addHeader(r.File, string(r.Text), c.Now)); err != nil {
		return cannot("install", who, err)
	}
	ed.save(ctx, answer, revision.Revision{
		File: old.path, User: who.Name, UID: who.UID, At: c.Now, By: c.Peer.String(), How: revision.Installed, Text: r.Text,
	})
	return nil
}

// Remove removes the crontab of a user.
func (ed *Editor) Remove(ctx context.Context, c *call.Call) error {
	who, err := ed.askedFor(ctx, c)
	if err != nil {
		return err
	}
	end, err := ed.pace(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	answer := api.Installed{V: api.Version, User: who.Name, Gone: true}
	if err := ed.remove(ctx, c, who, revision.Removed, &answer); err != nil {
		return err
	}
	ed.takeIn(ctx, c, &answer)
	return c.Answer(answer)
}

const noCrontab = "no crontab for "

// remove removes the crontab of a user, and stores the previous version.
func (ed *Editor) remove(ctx context.Context, c *call.Call, who account.Account, how string, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.look(who)
	answer.File = old.path
	if old.missing {
		return &api.Error{Kind: api.NotFound, What: noCrontab + who.Name}
	}
	if err == nil {
		ed.remember(ctx, answer, c.Now, place{old.path, true, who}, old)
		file, _ := ed.parse(old.path, who, old.body)
		answer.Entries = len(file.Entries)
	}
	if err := spool.Remove(ed.Places, who); err != nil {
		return cannot("remove", who, err)
	}
	ed.note(ctx, c, "DELETE", who.Name)
	ed.save(ctx, answer, revision.Revision{
		File: old.path, User: who.Name, UID: who.UID, At: c.Now, By: c.Peer.String(), How: how, Gone: true,
	})
	return nil
}

// parse reads a user's table as the daemon will.
func (ed *Editor) parse(name string, who account.Account, text string) (*crontab.File, []crontab.Diagnostic) {
	c := ed.Host.Config(name, false)
	c.Format, c.Owner, c.User, c.Privileged = crontab.User, who.Name, "", who.UID == 0
	c.MaxEntries = ed.maxEntries(who)
	return crontab.Parse(name, text, c)
}

// cannot returns the error for a failed operation on the disk.
func cannot(verb string, who account.Account, err error) error {
	e := &api.Error{Kind: api.Internal, What: "cannot " + verb + " the crontab of " + who.Name, Why: err.Error(), Fix: "cronring doctor"}
	if database.IsFull(err) {
		e.Fix = "make room on the disk"
	}
	return e
}
