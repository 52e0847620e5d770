package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
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

// anyWriter returns the writer, for any kind of crontabs.
func (s *Server) anyWriter() (*crontabWriter, error) {
	if s.writer.Crontabs == nil {
		return s.hostWriter()
	}
	return s.writer, nil
}

// placeOf checks whether the caller may change a file, and returns it: a user's own crontab as for
// crontab(1), any other only for admins.
func (s *Server) placeOf(ctx context.Context, c *call.Call, file, user string) (*crontabWriter, place, error) {
	d, err := s.anyWriter()
	if err != nil {
		return nil, place{}, err
	}
	if file != "" && user != "" {
		return nil, place{}, call.BadRequest("a file and a user are named", "it is one of the two")
	}
	name, isUsers := user, file == ""
	if !isUsers && len(d.Files) == 0 {
		name, isUsers = d.Places.IsUserCrontab(file)
	}
	if isUsers {
		if d, err = s.hostWriter(); err != nil {
			return nil, place{}, err
		}
		who, err := d.owner(ctx, c, name)
		if err != nil {
			return nil, place{}, err
		}
		path, err := d.Places.UserCrontab(who.Name)
		return d, place{path, true, who}, err
	}
	if !c.Peer.Admin {
		return nil, place{}, &api.Error{
			Kind: api.NotAllowed, What: "cannot touch " + display.Quote(file) + ": it is not your own crontab",
			Why: "you are " + c.Peer.String(), Fix: "ask as root: sudo cronring ...",
		}
	}
	path, err := d.known(file)
	return d, place{path: path}, err
}

// known finds a file among those that the daemon reads, or would read.
func (d *crontabWriter) known(file string) (string, error) {
	e := &api.Error{Kind: api.NotFound, What: "cannot find the crontab " + display.Quote(file), Fix: "cronring lint --installed"}
	if len(d.Files) == 0 {
		if d.Places.IsSystemCrontab(file) {
			return file, nil
		}
		e.Why = "cron reads only crontabs in " + d.Places.Crontab + ", " + d.Places.CronD + " and " + d.Places.Users
		return "", e
	}
	for _, name := range d.Files {
		if whole, err := filepath.Abs(name); file == name || err == nil && file == whole {
			return name, nil
		}
	}
	e.Why = "this daemon was given its files by name, and it is none of them"
	return "", e
}

// config returns how the daemon parses the crontab at a place.
func (d *crontabWriter) config(p place) crontab.Config {
	if len(d.Files) > 0 {
		return d.Host.Named(p.path, d.System)
	}
	o := spool.SourceOptions{Host: d.Host, Places: d.Places}
	c := o.Config(p.path, false)
	c.Local = d.zone()
	if p.user {
		c.Owner, c.User, c.Privileged, c.MaxEntries = p.who.Name, "", p.who.UID == 0, d.maxEntries(p.who)
	} else {
		c.StandIn = !d.Places.AnacronInstalled()
	}
	return c
}

// see reads the crontab at a place; a missing one is not an error.
func (d *crontabWriter) see(p place) (installed, error) {
	if p.user {
		return d.look(p.who)
	}
	t := installed{path: p.path}
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.missing = true
		return t, nil
	case err != nil:
		return t, err
	case !info.Mode().IsRegular():
		return t, errors.New("it is no regular file")
	}
	t.raw, err = spool.Read(p.path)
	if err == nil && len(t.raw) > crontab.MaxText {
		err = errors.New("it has more than 16 MiB")
	}
	t.body = t.raw
	return t, err
}

// write puts a text in a place, or takes away what is there.
func (d *crontabWriter) write(p place, text string, gone bool) error {
	switch {
	case len(d.Files) > 0 && gone:
		return errors.New("this daemon was given the file by name, and would miss it")
	case len(d.Files) > 0:
		return spool.Overwrite(p.path, text)
	case p.user && gone:
		return spool.Remove(d.Places, p.who)
	case p.user:
		return spool.Install(d.Places, p.who, text)
	case !gone:
		return spool.Restore(d.Places, p.path, text)
	}
	err := spool.Withdraw(d.Places, p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mine returns the user for whom a revision of the crontab at a place is stored.
func (p place) mine() (user string, uid uint32) {
	if p.user {
		return p.who.Name, p.who.UID
	}
	return "root", 0
}

// rememberAt is remember for any place.
func (d *crontabWriter) rememberAt(ctx context.Context, answer *api.Installed, now time.Time, p place, old installed) {
	user, uid := p.mine()
	answer.Before = d.save(ctx, answer, store.Revision{
		File: p.path, User: user, UID: uid, At: now, How: store.RevisionSeen, Gone: old.missing, Text: []byte(old.body),
	})
}

func (s *Server) showCrontabFile(ctx context.Context, c *call.Call) error {
	d, p, err := s.placeOf(ctx, c, c.Query.Get("file"), c.Query.Get("user"))
	if err != nil {
		return err
	}
	leave, err := d.enter(ctx, c, sizeOf(p.path))
	if err != nil {
		return err
	}
	defer leave()
	t, err := d.see(p)
	if err != nil {
		return unread(p, err)
	}
	config := d.config(p)
	file, diagnostics := crontab.Parse(p.path, t.body, config)
	answer := api.CrontabText{
		V: api.Version, CrontabFile: s.entryOf(p), Text: []byte(t.body), Sum: t.sum(),
		Above:  strings.Count(t.raw[:len(t.raw)-len(t.body)], "\n"),
		Format: api.FormatOf(config.Format), Family: api.FamilyDebian, Account: cmp.Or(config.User, config.Owner),
		Privileged: config.Privileged, Zone: d.zone().String(), StandsIn: config.StandIn, MaxEntries: config.MaxEntries,
	}
	if config.Family == crontab.RHEL {
		answer.Family = api.FamilyRHEL
	}
	answer.Missing, answer.Entries = t.missing, len(file.Entries)
	answer.Errors, answer.Warnings = diagnosticCounts(diagnostics)
	newest, err := d.Revisions.Revisions(ctx, store.RevisionFilter{File: p.path, Limit: 1})
	if err != nil {
		return err
	}
	if len(newest) > 0 && d.sees(c, newest[0]) {
		date(&answer.CrontabFile, newest[0])
	}
	return c.Answer(answer)
}

// date sets the revision of a crontab. A revision that a watcher saw has no author.
func date(t *api.CrontabFile, r store.Revision) { t.Revision, t.Changed, t.By = r.ID, r.At, r.By }

func unread(p place, err error) error {
	return &api.Error{Kind: api.Internal, What: "cannot read " + p.quoted(), Why: err.Error(), Fix: "cronring doctor"}
}

func sizeOf(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// entryOf returns a crontab as found on the disk, without its text.
func (s *Server) entryOf(p place) api.CrontabFile {
	t := api.CrontabFile{File: p.path}
	if p.user {
		t.User = p.who.Name
	}
	info, err := os.Lstat(p.path)
	if err != nil {
		t.Missing = errors.Is(err, fs.ErrNotExist)
		return t
	}
	t.Mode = uint32(info.Mode().Perm())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		t.Owner = call.Peer{UID: st.Uid, Name: s.nameOf(st.Uid)}.String()
	}
	return t
}

func (s *Server) nameOf(uid uint32) string {
	name, err := s.account(uid)
	if err != nil {
		return ""
	}
	return name
}

// listCrontabFiles lists what the caller may change: an admin everything, others
// their own.
func (s *Server) listCrontabFiles(ctx context.Context, c *call.Call) error {
	d, err := s.anyWriter()
	if err != nil {
		return err
	}
	list := s.loaded(c, d)
	newest, err := s.newestOf(ctx, c, d, list)
	if err != nil {
		return err
	}
	for i := range list {
		if r, ok := newest[list[i].File]; ok && d.sees(c, r) {
			date(&list[i], r)
		}
	}
	answer := api.CrontabFiles{V: api.Version, Crontabs: list}
	if len(d.Files) == 0 {
		answer.Places = &api.Places{Crontab: d.Places.Crontab, Anacrontab: d.Places.Anacrontab, CronD: d.Places.CronD}
	}
	return c.Answer(answer)
}

// newestOf returns the newest revisions of crontabs. For a user it queries only the user's own.
func (s *Server) newestOf(ctx context.Context, c *call.Call, d *crontabWriter, list []api.CrontabFile) (map[string]store.Revision, error) {
	if c.Peer.Admin {
		return d.Revisions.NewestRevisions(ctx)
	}
	found := map[string]store.Revision{}
	for _, t := range list {
		newest, err := d.Revisions.Revisions(ctx, store.RevisionFilter{File: t.File, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 {
			found[t.File] = newest[0]
		}
	}
	return found, nil
}

// loaded lists the crontabs that the daemon has read, those that it refuses, and the caller's own,
// even if missing; in the order in which it reads them. Users who are not admins receive only their
// own.
func (s *Server) loaded(c *call.Call, d *crontabWriter) []api.CrontabFile {
	type found struct{ errors, warnings int }
	diagnostics := map[string]*found{}
	for _, r := range s.backend.Diagnostics() {
		f := diagnostics[r.File]
		if f == nil {
			f = &found{}
			diagnostics[r.File] = f
		}
		switch r.Severity {
		case crontab.Error:
			f.errors++
		case crontab.Warning:
			f.warnings++
		}
	}
	own := d.ownCrontab(c.Peer)
	list, at := []api.CrontabFile{}, map[string]int{}
	put := func(path string) *api.CrontabFile {
		i, ok := at[path]
		if !ok {
			p := place{path: path}
			if p.who.Name, p.user = d.Places.IsUserCrontab(path); len(d.Files) > 0 {
				p.user = false
			}
			i, at[path] = len(list), len(list)
			list = append(list, s.entryOf(p))
		}
		return &list[i]
	}
	for _, file := range c.View.Crontabs() {
		if !c.Peer.Admin && file.Name != own {
			continue
		}
		t := put(file.Name)
		t.Entries = len(file.Entries)
		if f := diagnostics[file.Name]; f != nil {
			t.Errors, t.Warnings = f.errors, f.warnings
		}
	}
	for _, r := range s.backend.Refused() {
		if !c.Peer.Admin && r.Path != own {
			continue
		}
		t := put(r.Path)
		t.Refused, t.Fix = cmp.Or(r.Why, r.Word), r.Fix
	}
	if own != "" {
		put(own)
	}
	return list
}

func (s *Server) installCrontabFile(ctx context.Context, c *call.Call) error {
	d, err := s.anyWriter()
	if err != nil {
		return err
	}
	end, err := d.enterInstall(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	r, err := call.BodyOf[api.CrontabFileRequest](c, maxInstall)
	if err != nil {
		return err
	}
	d, p, err := s.placeOf(ctx, c, r.File, r.User)
	if err != nil {
		return err
	}
	if len(r.Text) > crontab.MaxText {
		return call.BadRequest("the crontab has more than 16 MiB", "no crontab has")
	}
	answer := api.Installed{V: api.Version, File: p.path, Gone: r.Gone}
	answer.User, _ = p.mine()
	if err := d.change(ctx, c, p, r, &answer); err != nil {
		return err
	}
	s.takeIn(ctx, c, &answer)
	for _, refused := range s.backend.Refused() {
		if refused.Path == p.path {
			answer.Notice = join(answer.Notice, "the daemon does not read it: "+cmp.Or(refused.Why, refused.Word))
		}
	}
	return c.Answer(answer)
}

// change replaces or removes the crontab at a place, and stores the previous version. It refuses a
// file that would not be read there, and new errors in it. Earlier errors are not this caller's,
// and do not prevent another change.
func (d *crontabWriter) change(ctx context.Context, c *call.Call, p place, r api.CrontabFileRequest, answer *api.Installed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.see(p)
	if err != nil {
		return unread(p, err)
	}
	switch {
	case r.Base != "" && r.Base != old.sum():
		return &api.Error{
			Kind: api.Conflict, What: p.quoted() + " was changed meanwhile",
			Why: "it does not say what it said when this edit began", Fix: "cronring undo list --file " + display.Quote(p.path),
		}
	case r.Gone && old.missing:
		return &api.Error{Kind: api.NotFound, What: "cannot remove " + p.quoted() + ": there is none"}
	}
	if err := d.refuse(p, old, r, answer); err != nil {
		return err
	}
	d.rememberAt(ctx, answer, c.Now, p, old)
	text := string(r.Text)
	if p.user && !r.Gone {
		text = d.addHeader(p.path, text, c.Now)
	}
	if err := d.write(p, text, r.Gone); err != nil {
		e := &api.Error{Kind: api.Internal, What: "cannot change " + p.quoted(), Why: err.Error(), Fix: "cronring doctor"}
		if store.IsFull(err) {
			e.Fix = "make room on the disk"
		}
		return e
	}
	word, how := "REPLACE", store.RevisionInstalled
	if r.Gone {
		word, how = "DELETE", store.RevisionRemoved
	}
	d.note(ctx, c, word, cmp.Or(p.who.Name, p.path))
	user, uid := p.mine()
	d.save(ctx, answer, store.Revision{
		File: p.path, User: user, UID: uid, At: c.Now, By: c.Peer.String(), How: how, Gone: r.Gone, Text: r.Text,
	})
	return nil
}

// refuse looks at a text before it is installed, and counts what is in it.
func (d *crontabWriter) refuse(p place, old installed, r api.CrontabFileRequest, answer *api.Installed) error {
	config := d.config(p)
	was, before := crontab.Parse(p.path, old.body, config)
	if r.Gone {
		answer.Entries = len(was.Entries)
		return nil
	}
	o := spool.SourceOptions{Host: d.Host, Places: d.Places, LSBNames: d.LSBNames}
	if passed := o.Passes(p.path); passed != nil && len(d.Files) == 0 {
		return &api.Error{Kind: api.Usage, What: "cannot write " + p.path + ": cron would not read it", Why: passed.Why, Fix: "choose a name of letters, digits, _ and -"}
	}
	file, diagnostics := crontab.Parse(p.path, string(r.Text), config)
	answer.Entries, answer.Diagnostics = len(file.Entries), api.NewDiagnostics(diagnostics)
	if err := fits(p.who.Name, file, diagnostics); err != nil {
		return err
	}
	fresh := review.NewErrors(review.Text{Text: old.body, Diagnostics: before}, review.Text{Text: string(r.Text), Diagnostics: diagnostics})
	if len(fresh) == 0 {
		return nil
	}
	why := fresh[0].Error()
	if len(fresh) > 1 {
		why = fmt.Sprintf("%d errors, the first: %s", len(fresh), why)
	}
	return &api.Error{Kind: api.Usage, What: "errors in " + p.quoted() + ", it is not changed", Why: why, Fix: "cronring lint FILE"}
}
