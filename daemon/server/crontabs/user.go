package crontabs

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	p, err := ed.owner(ctx, c, c.Query.Get("user"))
	if err != nil {
		return err
	}
	word := "LIST"
	if edit {
		word = "BEGIN EDIT"
	}
	ed.noteAccess(ctx, c, word, p.who.Name)
	leave, err := ed.large.enter(ctx, c, sizeOf(p.path))
	if err != nil {
		return err
	}
	defer leave()
	t, err := ed.see(p)
	if err != nil {
		return cannot("read", p, err)
	}
	text := t.body
	if header {
		text = t.raw
	}
	return c.Answer(api.Crontab{
		V: api.Version, User: p.who.Name, File: p.path, Missing: t.missing, Text: []byte(text), Sum: t.sum(),
	})
}

// askedFor returns the place of the user's crontab that a request is about.
func (ed *Editor) askedFor(ctx context.Context, c *call.Call) (place, error) {
	if err := ed.checkUsers(); err != nil {
		return place{}, err
	}
	r, err := call.Body[api.UserRequest](c)
	if err != nil {
		return place{}, err
	}
	return ed.owner(ctx, c, r.User)
}

// EndEdit logs that a user has edited a crontab.
func (ed *Editor) EndEdit(ctx context.Context, c *call.Call) error {
	p, err := ed.askedFor(ctx, c)
	if err != nil {
		return err
	}
	ed.noteAccess(ctx, c, "END EDIT", p.who.Name)
	return c.Answer(api.Crontab{V: api.Version, User: p.who.Name})
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
	p, err := ed.owner(ctx, c, r.User)
	if err != nil {
		return err
	}
	file, diagnostics := ed.parse(r.File, p.who, string(r.Text))
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	if err := flawless(p.who.Name, diagnostics); err != nil {
		return err
	}
	answer := api.Installed{
		V: api.Version, User: p.who.Name, File: p.path, Entries: len(file.Entries), Diagnostics: api.NewDiagnostics(diagnostics),
	}
	if err := ed.install(ctx, c, p, r, &answer); err != nil {
		return err
	}
	ed.note(ctx, c, "REPLACE", p.who.Name)
	ed.awaitReload(ctx, c, &answer)
	return c.Answer(answer)
}

// flawless refuses a crontab with an error, like every crontab(1): the daemon would run the good
// lines, but here is a person who can correct the others.
func flawless(user string, diagnostics []crontab.Diagnostic) error {
	wrong := slices.DeleteFunc(slices.Clone(diagnostics), func(d crontab.Diagnostic) bool { return d.Severity != crontab.Error })
	return errorsIn("the crontab of "+user+", it is not installed", wrong)
}

// errorsIn returns the error for a text with errors, or nil if there are none. what is the text, and what
// becomes of it.
func errorsIn(what string, all []crontab.Diagnostic) error {
	if len(all) == 0 {
		return nil
	}
	why := all[0].Error()
	if len(all) > 1 {
		why = fmt.Sprintf("%d errors, the first: %s", len(all), why)
	}
	return &api.Error{Kind: api.Usage, What: "errors in " + what, Why: why, Fix: "cronring lint FILE"}
}

// install replaces the crontab of a user, and stores the previous version.
func (ed *Editor) install(ctx context.Context, c *call.Call, p place, r api.InstallRequest, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.see(p)
	if err != nil && r.Base != "" {
		return cannot("read", p, err)
	}
	if r.Base != "" && r.Base != old.sum() {
		return changedMeanwhile(p, "--user "+display.Quote(p.who.Name))
	}
	if err == nil { // an unreadable file, which another user may have planted, is not stored
		ed.remember(ctx, answer, c.Now, p, old)
	}
	if err := spool.Install(ed.Paths, p.who, ed.addHeader(r.File, string(r.Text), c.Now)); err != nil {
		return cannot("install", p, err)
	}
	p.did(c, "edit", answer, ed.save(ctx, answer, p.revision(c, revision.Installed, r.Text)))
	return nil
}

// Remove removes the crontab of a user.
func (ed *Editor) Remove(ctx context.Context, c *call.Call) error {
	p, err := ed.askedFor(ctx, c)
	if err != nil {
		return err
	}
	end, err := ed.pace(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	answer := api.Installed{V: api.Version, User: p.who.Name, Gone: true}
	if err := ed.remove(ctx, c, p, revision.Removed, &answer); err != nil {
		return err
	}
	ed.awaitReload(ctx, c, &answer)
	return c.Answer(answer)
}

// remove removes the crontab of a user, and stores the previous version.
func (ed *Editor) remove(ctx context.Context, c *call.Call, p place, how string, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.see(p)
	answer.File = p.path
	if old.missing {
		return &api.Error{Kind: api.NotFound, What: "no crontab for " + p.who.Name}
	}
	if err == nil {
		ed.remember(ctx, answer, c.Now, p, old)
		file, _ := ed.parse(p.path, p.who, old.body)
		answer.Entries = len(file.Entries)
	}
	if err := spool.Remove(ed.Paths, p.who); err != nil {
		return cannot("remove", p, err)
	}
	ed.note(ctx, c, "DELETE", p.who.Name)
	what := "remove"
	if how == revision.Undone {
		what = "undo"
	}
	gone := p.revision(c, how, nil)
	gone.Gone = true
	p.did(c, what, answer, ed.save(ctx, answer, gone))
	return nil
}

// parse reads a user's crontab as the daemon will.
func (ed *Editor) parse(name string, who account.Account, text string) (*crontab.File, []crontab.Diagnostic) {
	c := ed.host().Config(name, false)
	c.Format, c.Owner, c.User, c.Privileged = crontab.User, who.Name, "", who.UID == 0
	c.MaxEntries = ed.maxEntries(who)
	return crontab.Parse(name, text, c)
}

// cannot returns the error for a failed operation on the disk.
func cannot(verb string, p place, err error) error {
	e := &api.Error{Kind: api.Internal, What: "cannot " + verb + " " + p.quoted(), Why: err.Error(), Fix: "cronring doctor"}
	switch {
	case errors.Is(err, errNotUsers):
		e.Kind, e.Fix = api.Conflict, "sudoedit "+display.Quote(p.path)
	case database.IsFull(err):
		e.Fix = "make room on the disk"
	}
	return e
}

// changedMeanwhile returns the error for a crontab that changed since the caller read it. of selects
// its revisions.
func changedMeanwhile(p place, of string) error {
	return &api.Error{
		Kind: api.Conflict, What: p.quoted() + " was changed meanwhile",
		Why: "it does not say what it said when this edit began", Fix: "cronring undo list " + of,
	}
}
