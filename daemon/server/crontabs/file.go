package crontabs

import (
	"cmp"
	"context"
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
		return ed.owner(ctx, c, name)
	}
	if !c.Peer.Admin {
		return place{}, &api.Error{
			Kind: api.NotAllowed, What: "cannot touch " + display.Quote(file) + ": it is not your own crontab",
			Why: "you are " + c.Peer.String(), Fix: "ask as root: sudo cronring ...",
		}
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

// ShowFile answers with any crontab, with its text.
func (ed *Editor) ShowFile(ctx context.Context, c *call.Call) error {
	p, err := ed.placeOf(ctx, c, c.Query.Get("file"), c.Query.Get("user"))
	if err != nil {
		return err
	}
	leave, err := ed.large.enter(ctx, c, sizeOf(p.path))
	if err != nil {
		return err
	}
	defer leave()
	t, err := ed.see(p)
	if err != nil {
		return cannot("read", p, err)
	}
	config := ed.config(p)
	file, diagnostics := crontab.Parse(p.path, t.body, config)
	answer := api.CrontabText{
		V: api.Version, CrontabFile: ed.entryOf(p), Text: []byte(t.body), Sum: t.sum(),
		Above:  strings.Count(t.raw[:len(t.raw)-len(t.body)], "\n"),
		Format: api.FormatOf(config.Format), Family: api.FamilyOf(config.Family), Account: cmp.Or(config.User, config.Owner),
		Privileged: config.Privileged, Zone: ed.zone().String(), StandsIn: config.StandIn, MaxEntries: config.MaxEntries, Calendars: api.NewCalendars(config.Calendars),
	}
	if ed.Blackouts != nil {
		answer.Blackouts = api.NewBlackouts(ed.Blackouts())
	}
	answer.Missing, answer.Entries = t.missing, len(file.Entries)
	answer.Errors, answer.Warnings = Count(diagnostics)
	newest, err := ed.Revisions.Revisions(ctx, revision.Filter{File: p.path, Limit: 1})
	if err != nil {
		return err
	}
	if len(newest) > 0 && ed.sees(c, newest[0]) {
		date(&answer.CrontabFile, newest[0])
	}
	return c.Answer(answer)
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

// InstallFile replaces or removes any crontab.
func (ed *Editor) InstallFile(ctx context.Context, c *call.Call) error {
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
	answer := api.Installed{V: api.Version, File: p.path, Gone: r.Gone}
	answer.User, _ = p.mine()
	if err := ed.change(ctx, c, p, r, &answer); err != nil {
		return err
	}
	ed.awaitReload(ctx, c, &answer)
	for _, refused := range ed.loader.Refused() {
		if refused.Path == p.path {
			answer.Notice = join(answer.Notice, "the daemon does not read it: "+cmp.Or(refused.Why, refused.Word))
		}
	}
	return c.Answer(answer)
}

// change replaces or removes the crontab at a place, and stores the previous version. It refuses a
// file that would not be read there, and new errors in it. Earlier errors are not this caller's,
// and do not prevent another change.
func (ed *Editor) change(ctx context.Context, c *call.Call, p place, r api.CrontabFileRequest, answer *api.Installed) error {
	ed.mu.Lock()
	defer ed.mu.Unlock()
	old, err := ed.see(p)
	if err != nil {
		return cannot("read", p, err)
	}
	switch {
	case r.Base != "" && r.Base != old.sum():
		return changedMeanwhile(p, "--file "+display.Quote(p.path))
	case r.Gone && old.missing:
		return &api.Error{Kind: api.NotFound, What: "cannot remove " + p.quoted() + ": there is none"}
	}
	if err := ed.refuse(p, old, r, answer); err != nil {
		return err
	}
	ed.remember(ctx, answer, c.Now, p, old)
	text := string(r.Text)
	if p.user && !r.Gone {
		text = ed.addHeader(p.path, text, c.Now)
	}
	if err := ed.write(p, text, r.Gone); err != nil {
		return cannot("change", p, err)
	}
	word, how, what := "REPLACE", revision.Installed, "edit"
	if slices.Contains(api.FileVerbs, r.Verb) {
		what = r.Verb
	}
	if r.Gone {
		word, how, what = "DELETE", revision.Removed, "remove"
	}
	ed.note(ctx, c, word, cmp.Or(p.who.Name, p.path))
	next := p.revision(c, how, r.Text)
	next.Gone = r.Gone
	p.did(c, what, answer, ed.save(ctx, answer, next))
	return nil
}

// refuse looks at a text before it is installed, and counts what is in it.
func (ed *Editor) refuse(p place, old installed, r api.CrontabFileRequest, answer *api.Installed) error {
	config := ed.config(p)
	was, before := crontab.Parse(p.path, old.body, config)
	if r.Gone {
		answer.Entries = len(was.Entries)
		return nil
	}
	o := spool.SourceOptions{Host: ed.Host, Paths: ed.Paths, LSBNames: ed.LSBNames}
	if passed := o.Passes(p.path); passed != nil && len(ed.Files) == 0 {
		return &api.Error{Kind: api.Usage, What: "cannot write " + p.path + ": cron would not read it", Why: passed.Why, Fix: "choose a name of letters, digits, _ and -"}
	}
	file, diagnostics := crontab.Parse(p.path, string(r.Text), config)
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	return errorsIn(p.quoted()+", it is not changed",
		review.NewErrors(review.Text{Text: old.body, Diagnostics: before}, review.Text{Text: string(r.Text), Diagnostics: diagnostics}))
}
