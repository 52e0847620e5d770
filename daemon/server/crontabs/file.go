package crontabs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/revision"
)

// place is the crontab that a request is about.
type place struct {
	path string
	user bool            // it is a user's own
	who  account.Account // whose
}

// quoted is the file for people.
func (p place) quoted() string {
	if p.user {
		return "the crontab of " + p.who.Name
	}
	return p.path
}

// placeOf checks whether the caller may change a file, and returns it: a user's own crontab as for
// crontab(1), any other only for admins.
func (ed *Editor) placeOf(ctx context.Context, c *call.Call, file, user string) (place, error) {
	if err := ed.checkAny(); err != nil {
		return place{}, err
	}
	if file != "" && user != "" {
		return place{}, call.BadRequest("a file and a user are named", "it is one of the two")
	}
	name, isUsers := user, file == ""
	if !isUsers && len(ed.Files) == 0 {
		name, isUsers = ed.Paths.IsUserCrontab(file)
	}
	if isUsers {
		if err := ed.checkUsers(); err != nil {
			return place{}, err
		}
	}
	if !c.Peer.Admin && (!isUsers || file != "" && name != c.Peer.Name) {
		return place{}, &api.Error{
			Kind: api.NotAllowed, What: "cannot touch " + display.Quote(file) + ": it is not your own crontab",
			Why: "you are " + c.Peer.String(), Fix: "ask as root: sudo cronring ...",
		}
	}
	if isUsers {
		return ed.owner(ctx, c, name)
	}
	path, err := ed.known(file)
	return place{path: path}, err
}

// known finds a file among those that the daemon reads, or would read.
func (ed *Editor) known(file string) (string, error) {
	e := &api.Error{Kind: api.NotFound, What: "cannot find the crontab " + display.Quote(file), Fix: "cronring lint --installed"}
	if len(ed.Files) == 0 {
		if ed.Paths.IsSystemCrontab(file) {
			return file, nil
		}
		e.Why = "cron reads only crontabs in " + ed.Paths.Crontab + ", " + ed.Paths.CronD + " and " + ed.Paths.Users
		return "", e
	}
	for _, name := range ed.Files {
		if whole, err := filepath.Abs(name); file == name || err == nil && file == whole {
			return name, nil
		}
	}
	e.Why = "this daemon was given its files by name, and it is none of them"
	return "", e
}

// host returns the host with the calendars as they are now.
func (ed *Editor) host() spool.Host {
	h := ed.Host
	if ed.Calendars != nil {
		h.Calendars = ed.Calendars()
	}
	return h
}

// config returns how the daemon parses the crontab at a place.
func (ed *Editor) config(p place) crontab.Config {
	if len(ed.Files) > 0 {
		return ed.host().Named(p.path, ed.System)
	}
	o := spool.SourceOptions{Host: ed.host(), Paths: ed.Paths}
	c := o.Config(p.path, false)
	c.Local = ed.zone()
	if p.user {
		c.Owner, c.User, c.Privileged, c.MaxEntries = p.who.Name, "", p.who.UID == 0, ed.maxEntries(p.who)
	} else {
		c.StandIn = !ed.Paths.AnacronInstalled()
	}
	return c
}

// Show answers with a crontab and its text. The query may contain the word for cron's log.
func (ed *Editor) Show(ctx context.Context, c *call.Call) error {
	word := c.Query.Get("log")
	if !slices.Contains([]string{"", api.LogList, api.LogEdit}, word) {
		return call.BadRequest(fmt.Sprintf("log=%q is neither %s nor %s", word, api.LogList, api.LogEdit), "")
	}
	p, err := ed.placeOf(ctx, c, c.Query.Get("file"), c.Query.Get("user"))
	if err != nil {
		return err
	}
	if word != "" {
		ed.noteAccess(ctx, c, word, cmp.Or(p.who.Name, p.path))
	}
	answer, err := ed.show(ctx, c, p)
	if err != nil {
		return err
	}
	return c.Answer(answer)
}

// show returns a crontab and its text. It counts as a large crontab only until show returns: the caller may
// read slowly.
func (ed *Editor) show(ctx context.Context, c *call.Call, p place) (answer api.CrontabText, err error) {
	leave, err := ed.large.enter(ctx, c, sizeOf(p.path))
	if err != nil {
		return answer, err
	}
	defer leave()
	t, err := ed.see(p)
	if err != nil {
		return answer, cannot("read", p, err)
	}
	config := ed.config(p)
	file, diagnostics := crontab.Parse(p.path, t.body, config)
	answer = api.CrontabText{
		V: api.Version, CrontabFile: ed.entryOf(p), Text: []byte(t.body), Sum: t.sum(),
		Header: []byte(strings.TrimSuffix(t.raw, t.body)),
		Format: api.FormatOf(config.Format), Family: api.FamilyOf(config.Family), Account: cmp.Or(config.User, config.Owner),
		Privileged: config.Privileged, Zone: ed.zone().String(), StandsIn: config.StandIn, MaxEntries: config.MaxEntries, Calendars: api.NewCalendars(config.Calendars),
	}
	if ed.Blackouts != nil {
		answer.Blackouts = api.NewBlackouts(ed.Blackouts())
	}
	answer.Missing, answer.Entries = t.missing, len(file.Entries)
	answer.Errors, answer.Warnings = Count(diagnostics)
	newest, err := ed.Revisions.Revisions(ctx, revision.Filter{File: p.path, Limit: 1})
	if err == nil && len(newest) > 0 && ed.sees(c, newest[0]) {
		date(&answer.CrontabFile, newest[0])
	}
	return answer, err
}

// date sets the revision of a crontab. A revision that a watcher saw has no author.
func date(t *api.CrontabFile, r revision.Revision) { t.Revision, t.Changed, t.By = r.ID, r.At, r.By }

func sizeOf(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// EndEdit logs that a user has edited a crontab.
func (ed *Editor) EndEdit(ctx context.Context, c *call.Call) error {
	r, err := call.Body[api.Edited](c)
	if err != nil {
		return err
	}
	p, err := ed.placeOf(ctx, c, "", r.User)
	if err != nil {
		return err
	}
	ed.noteAccess(ctx, c, "END EDIT", p.who.Name)
	return c.Answer(api.Edited{V: api.Version, User: p.who.Name})
}

// Install replaces a crontab.
func (ed *Editor) Install(ctx context.Context, c *call.Call) error {
	return ed.answerChange(ctx, c, false)
}

// Remove removes a crontab.
func (ed *Editor) Remove(ctx context.Context, c *call.Call) error {
	return ed.answerChange(ctx, c, true)
}

// answerChange replaces or removes a crontab. It refuses a file that would not be read there.
func (ed *Editor) answerChange(ctx context.Context, c *call.Call, gone bool) error {
	if err := ed.checkAny(); err != nil {
		return err
	}
	end, err := ed.enterInstall(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	r, err := call.BodyOf[api.CrontabFileRequest](c, maxInstall)
	if err != nil {
		return err
	}
	p, err := ed.placeOf(ctx, c, r.File, r.User)
	if err != nil {
		return err
	}
	if len(r.Text) > crontab.MaxText {
		return call.BadRequest("the crontab has more than 16 MiB", "no crontab has")
	}
	r.Gone = gone
	if gone {
		r.Text = nil
	}
	o := spool.SourceOptions{Host: ed.Host, Paths: ed.Paths, LSBNames: ed.LSBNames}
	if passed := o.Passes(p.path); passed != nil && !r.Gone && len(ed.Files) == 0 {
		return &api.Error{Kind: api.Usage, What: "cannot write " + p.path + ": cron would not read it", Why: passed.Why, Fix: "choose a name of letters, digits, _ and -"}
	}
	r.Source = cmp.Or(r.Source, p.path)
	file, diagnostics := crontab.Parse(r.Source, string(r.Text), ed.config(p))
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	answer := api.Installed{V: api.Version, File: p.path, Gone: r.Gone, Entries: len(file.Entries), Diagnostics: api.NewDiagnostics(diagnostics)}
	answer.User, _ = p.mine()
	if err := ed.change(ctx, c, p, r, diagnostics, &answer); err != nil {
		return err
	}
	ed.awaitReload(ctx, c, &answer)
	return c.Answer(answer)
}

// change replaces or removes the crontab at a place, and stores the previous version. It refuses new
// errors; earlier ones prevent only the change of a strict caller such as crontab(1). A strict caller can
// also replace a user's crontab that cannot be read.
func (ed *Editor) change(ctx context.Context, c *call.Call, p place, r api.CrontabFileRequest, diagnostics []crontab.Diagnostic, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.see(p)
	switch {
	case err != nil && (!p.user || !r.Strict || r.Base != ""):
		return cannot("read", p, err)
	case r.Base != "" && r.Base != old.sum():
		return changedMeanwhile(p)
	case r.Gone && old.missing:
		return nothingAt(p)
	}
	var before review.Text
	if r.Gone || !r.Strict {
		was, known := crontab.Parse(p.path, old.body, ed.config(p))
		before = review.Text{Text: old.body, Diagnostics: known}
		if r.Gone {
			answer.Entries = len(was.Entries)
		}
	}
	if err := errorsIn(p.quoted()+", it is not installed", review.NewErrors(before, review.Text{Text: string(r.Text), Diagnostics: diagnostics})); err != nil {
		return err
	}
	next, verb, what := p.revision(c, revision.Installed, r.Text), "install", "edit"
	switch {
	case r.Gone:
		next.How, next.Gone, verb, what = revision.Removed, true, "remove", "remove"
	case slices.Contains(api.FileVerbs, r.Verb):
		what = r.Verb
	}
	if err == nil { // an unreadable file, which another user may have planted, is not stored
		ed.remember(ctx, answer, c.Now, p, old)
	}
	if err := ed.put(ctx, c, p, ed.addHeader(p, r.Source, string(r.Text), c.Now), next, what, answer); err != nil {
		return cannot(verb, p, err)
	}
	return nil
}

// put writes a text to a place, or removes what is there, and stores it as a revision. what is the word
// for the audit log.
func (ed *Editor) put(ctx context.Context, c *call.Call, p place, text string, next revision.Revision, what string, answer *api.Installed) error {
	if err := ed.write(p, text, next.Gone); err != nil {
		return err
	}
	word := "REPLACE"
	if next.Gone {
		word = "DELETE"
	}
	ed.note(ctx, c, word, cmp.Or(p.who.Name, p.path))
	p.did(c, what, answer, ed.save(ctx, answer, next))
	return nil
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

// nothingAt returns the error for the removal of a missing crontab.
func nothingAt(p place) error {
	what := "no crontab for " + p.who.Name // as crontab(1) prints it
	if !p.user {
		what = "cannot remove " + p.path + ": there is none"
	}
	return &api.Error{Kind: api.NotFound, What: what}
}

// cannot returns the error for an operation that failed on the disk or was refused.
func cannot(verb string, p place, err error) error {
	e := &api.Error{Kind: api.Internal, What: "cannot " + verb + " " + p.quoted(), Why: err.Error(), Fix: "cronring doctor"}
	switch {
	case errors.Is(err, errNotUsers):
		e.Kind, e.Fix = api.Conflict, "sudoedit "+display.Quote(p.path)
	case errors.Is(err, errByName):
		e.Kind, e.Fix = api.Conflict, "edit the file and: cronring reload"
	case database.IsFull(err):
		e.Fix = "make room on the disk"
	}
	return e
}

// changedMeanwhile returns the error for a crontab that changed since the caller read it.
func changedMeanwhile(p place) error {
	of := "--file " + display.Quote(p.path)
	if p.user {
		of = "--user " + display.Quote(p.who.Name)
	}
	return &api.Error{
		Kind: api.Conflict, What: p.quoted() + " was changed meanwhile",
		Why: "it does not say what it said when this edit began", Fix: "cronring undo list " + of,
	}
}
