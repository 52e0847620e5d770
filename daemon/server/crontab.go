package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// Crontabs is what the server needs to change crontabs: the host's, or those that the daemon was
// given by name.
type Crontabs struct {
	Host      spool.Host
	Places    spool.Places
	Accounts  spool.Accounts
	Revisions Revisions
	Version   string // for the header of tables
	LSBNames  bool   // names as Debian's cron takes them with -l

	// MaxEntries returns the maximum number of entries of a user's crontab; 0 means no limit. nil:
	// no limit exists.
	MaxEntries func() int

	// Files are the crontabs that the daemon was given by name instead of the host's. System means
	// that they have a user column.
	Files  []string
	System bool

	// Note writes a line of cron's log: crontab[PID]: (WHO) WORD (TEXT). pid
	// is the caller's, 0 when it is in another name space. nil: no log.
	Note func(pid int, who, word, text string)
}

// Revisions keeps versions of tables; store.Store does.
type Revisions interface {
	SaveRevision(ctx context.Context, r store.Revision) (id int64, err error)
	Revision(ctx context.Context, id int64) (r store.Revision, ok bool, err error)
	Revisions(ctx context.Context, f store.RevisionFilter) ([]store.Revision, error)
	NewestRevisions(ctx context.Context) (map[string]store.Revision, error)
}

// Limits on tables that go over the socket. A table is base64 in JSON, and
// lies in memory several times over on its way, so that few large ones may be
// under way at a time, one of each account: a caller waits for room.
const (
	maxInstall   = crontab.MaxText/3*4 + 64<<10 // see bodyFor
	maxLarge     = 3                            // of more than maxBody, from callers that are not admins
	largeTimeout = 10 * time.Second
)

// crontabWriter changes crontabs, one at a time, so that a file does not change between comparison and
// replacement.
type crontabWriter struct {
	*Crontabs
	mu       sync.Mutex
	large    chan struct{}
	largeOf  sync.Map // uid: chan struct{}
	reloads  sharedReload
	limiters changeLimiters
}

func newCrontabWriter(c *Crontabs) *crontabWriter {
	return &crontabWriter{Crontabs: c, large: make(chan struct{}, maxLarge)}
}

// enter waits for room for a table of that many bytes; fewer than 0 is not
// known.
func (d *crontabWriter) enter(ctx context.Context, c *call.Call, size int64) (leave func(), err error) {
	if c.Peer.Admin || size >= 0 && size <= call.MaxBody {
		return func() {}, nil
	}
	c.Patient()
	ctx, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	own, _ := d.largeOf.LoadOrStore(c.Peer.LimitKey(), make(chan struct{}, 1))
	var entered []chan struct{}
	leave = func() {
		for _, room := range entered {
			<-room
		}
	}
	for _, room := range []chan struct{}{own.(chan struct{}), d.large} {
		select {
		case room <- struct{}{}:
			entered = append(entered, room)
		case <-ctx.Done():
			leave()
			return nil, &api.Error{
				Kind: api.Conflict, What: "no room for a crontab as large now",
				Why: "others are under way, and took longer than " + largeTimeout.String(), Fix: "try again",
			}
		}
	}
	return leave, nil
}

// sharedReload lets callers that wait for a reload share one: a caller that
// installs tables in a loop must not make the daemon read all of them as often.
type sharedReload struct {
	mu          sync.Mutex
	done        uint64 // the newest change that a reload has covered
	changesLock sync.Mutex
	changes     uint64
}

// after returns when a reload that began after the call has ended.
func (s *sharedReload) after(reload func() error) error {
	mine := s.count(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done >= mine {
		return nil
	}
	covered := s.count(0)
	if err := reload(); err != nil {
		return err
	}
	s.done = covered
	return nil
}

func (s *sharedReload) count(n uint64) uint64 {
	s.changesLock.Lock()
	defer s.changesLock.Unlock()
	s.changes += n
	return s.changes
}

// note writes a line of cron's log about the caller.
func (d *crontabWriter) note(ctx context.Context, c *call.Call, word, text string) {
	if d.Note == nil {
		return
	}
	d.Note(call.PIDOf(ctx), c.Peer.String(), word, text)
}

// hostWriter is the writer, if the daemon has users' crontabs.
func (s *Server) hostWriter() (*crontabWriter, error) {
	if s.writer.Crontabs == nil || len(s.writer.Files) > 0 {
		return nil, &api.Error{
			Kind: api.Conflict, What: "this daemon keeps no users' crontabs",
			Why: "it was given its files by name, and reads those alone",
			Fix: "edit the files and: cronring reload    or ask the host's daemon: systemctl start cronring",
		}
	}
	return s.writer, nil
}

// owner checks whether the caller may change the crontab of a user, and returns the user. "" is the
// caller.
func (d *crontabWriter) owner(ctx context.Context, c *call.Call, name string) (account.Account, error) {
	if c.Peer.Name == "" {
		return account.Account{}, &api.Error{
			Kind: api.NotAllowed, What: "crontab is not allowed for " + c.Peer.String(),
			Why: "no user of this host has that uid",
		}
	}
	if name == "" {
		name = c.Peer.Name
	}
	if !c.Peer.Admin && name != c.Peer.Name {
		return account.Account{}, &api.Error{Kind: api.NotAllowed, What: "must be privileged to use -u", Why: "you are " + c.Peer.String()}
	}
	if _, err := d.Places.UserCrontab(name); err != nil {
		return account.Account{}, unknownUser(name)
	}
	who, err := d.Accounts.Find(ctx, name)
	if _, unknown := errors.AsType[*account.UnknownError](err); unknown {
		return account.Account{}, unknownUser(name)
	}
	if err != nil {
		return account.Account{}, fmt.Errorf("find account: %w", err)
	}
	if !c.Peer.Admin && who.UID != c.Peer.UID {
		return account.Account{}, &api.Error{
			Kind: api.NotAllowed, What: "crontab is not allowed for " + c.Peer.String(),
			Why: fmt.Sprintf("you are uid %d, but the user of that name is uid %d", c.Peer.UID, who.UID),
		}
	}
	return who, d.admit(ctx, c, name)
}

func unknownUser(name string) error {
	return &api.Error{Kind: api.NotFound, What: "user `" + name + "' unknown"}
}

// admit checks cron.allow and cron.deny, and answers in the words of the family's crontab(1).
func (d *crontabWriter) admit(ctx context.Context, c *call.Call, target string) error {
	caller := c.Peer.Name
	if c.Peer.Admin {
		caller = "root"
	}
	err := d.Places.MayUse(d.Host.Family, caller, target)
	barred, ok := errors.AsType[*spool.BarredError](err)
	if !ok {
		return err
	}
	d.note(ctx, c, "AUTH", "crontab command not allowed")
	e := &api.Error{
		Kind: api.NotAllowed, What: "You (" + c.Peer.Name + ") are not allowed to use this program (crontab)",
		Why: barred.Why, Fix: "See crontab(1) for more information",
	}
	if barred.Name != c.Peer.Name {
		e.What, e.Fix = "The user "+barred.Name+" cannot use this program (crontab)", ""
	}
	return e
}

func (s *Server) showCrontab(ctx context.Context, c *call.Call) error {
	d, err := s.hostWriter()
	if err != nil {
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
	who, err := d.owner(ctx, c, c.Query.Get("user"))
	if err != nil {
		return err
	}
	word := "LIST"
	if edit {
		word = "BEGIN EDIT"
	}
	d.note(ctx, c, word, who.Name)
	leave, err := d.enter(ctx, c, d.size(who))
	if err != nil {
		return err
	}
	defer leave()
	t, err := d.look(who)
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

// askedFor returns whose crontab a request is about that names no file.
func (s *Server) askedFor(ctx context.Context, c *call.Call) (d *crontabWriter, who account.Account, err error) {
	if d, err = s.hostWriter(); err != nil {
		return nil, who, err
	}
	r, err := call.Body[api.UserRequest](c)
	if err != nil {
		return nil, who, err
	}
	who, err = d.owner(ctx, c, r.User)
	return d, who, err
}

func (s *Server) endEdit(ctx context.Context, c *call.Call) error {
	d, who, err := s.askedFor(ctx, c)
	if err != nil {
		return err
	}
	d.note(ctx, c, "END EDIT", who.Name)
	return c.Answer(api.Crontab{V: api.Version, User: who.Name})
}

// installed is a user's table as it is on disk.
type installed struct {
	path    string
	missing bool
	raw     string
	body    string // what its owner wrote
}

// look reads the crontab of a user; a missing one is not an error.
func (d *crontabWriter) look(who account.Account) (t installed, err error) {
	if t.path, err = d.Places.UserCrontab(who.Name); err != nil {
		return t, err
	}
	t.raw, err = d.Places.ReadCrontab(who)
	if errors.Is(err, fs.ErrNotExist) {
		t.missing, err = true, nil
	}
	t.body = d.Places.Body(t.path, t.raw)
	return t, err
}

// cannot returns the error for a failed operation on the disk.
func cannot(verb string, who account.Account, err error) error {
	e := &api.Error{Kind: api.Internal, What: "cannot " + verb + " the crontab of " + who.Name, Why: err.Error(), Fix: "cronring doctor"}
	if store.IsFull(err) {
		e.Fix = "make room on the disk"
	}
	return e
}

// size returns the size of a user's crontab in bytes.
func (d *crontabWriter) size(who account.Account) int64 {
	path, err := d.Places.UserCrontab(who.Name)
	if err != nil {
		return 0
	}
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// sum returns the checksum of a version of a crontab.
func (t installed) sum() string {
	if t.missing {
		return spool.NoCrontab
	}
	return spool.Sum(t.body)
}

// parse reads a user's table as the daemon will.
func (d *crontabWriter) parse(name string, who account.Account, text string) (*crontab.File, []crontab.Diagnostic) {
	c := d.Host.Config(name, false)
	c.Format, c.Owner, c.User, c.Privileged = crontab.User, who.Name, "", who.UID == 0
	c.MaxEntries = d.maxEntries(who)
	return crontab.Parse(name, text, c)
}

// maxEntries returns the maximum number of entries of the crontab of a user; 0 means no limit.
func (d *crontabWriter) maxEntries(who account.Account) int {
	if who.UID == 0 || d.MaxEntries == nil {
		return 0
	}
	return d.MaxEntries()
}

// fits rejects a crontab of a user that is beyond the limit: the daemon would
// read it in part.
func fits(user string, file *crontab.File, diagnostics []crontab.Diagnostic) error {
	if !file.Truncated() {
		return nil
	}
	beyond := diagnostics[len(diagnostics)-1]
	return &api.Error{Kind: api.Usage, What: "the crontab of " + user + " is not installed: it is too large", Why: beyond.Message, Fix: beyond.Fix}
}

// fitsLimit rejects the body of a request whose crontab must be beyond the
// limit of the caller, before the daemon spends memory on it.
func (d *crontabWriter) fitsLimit(c *call.Call) error {
	most := crontab.MaxBytes(d.maxEntries(account.Account{UID: c.Peer.UID}))
	size := c.Request.ContentLength
	if c.Peer.Admin || size <= bodyFor(most) {
		return nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.Request.Body, maxInstall)) // a client reads the answer after it has sent all
	return &api.Error{
		Kind: api.Usage, What: "the crontab is not installed: it is too large",
		Why: fmt.Sprintf("it has about %d bytes, and the limit of a user who may have %d entries is %d", size/4*3, d.maxEntries(account.Account{UID: c.Peer.UID}), most),
		Fix: "let a script start several entries, or have the administrator raise max-entries-per-user in cronring.toml",
	}
}

// bodyFor returns the largest request in bytes that carries a crontab of so
// many bytes: as base64, beside a few words.
func bodyFor(bytes int) int64 { return int64(bytes)/3*4 + 64<<10 }

// enterInstall waits until a request that contains a crontab can be read, and checks its length. The
// caller calls end when the request is complete.
func (d *crontabWriter) enterInstall(ctx context.Context, c *call.Call) (end func(), err error) {
	leave, err := d.enter(ctx, c, c.Request.ContentLength)
	if err != nil {
		return nil, err
	}
	c.Patient()
	endChange, err := d.pace(ctx, c)
	if err != nil {
		leave()
		return nil, err
	}
	c.Hurry()
	end = func() { endChange(); leave() }
	if err := d.fitsLimit(c); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

func (s *Server) installCrontab(ctx context.Context, c *call.Call) error {
	d, err := s.hostWriter()
	if err != nil {
		return err
	}
	end, err := d.enterInstall(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	r, err := call.BodyOf[api.InstallRequest](c, maxInstall)
	if err != nil {
		return err
	}
	who, err := d.owner(ctx, c, r.User)
	if err != nil {
		return err
	}
	file, diagnostics := d.parse(r.File, who, string(r.Text))
	if err := fits(who.Name, file, diagnostics); err != nil {
		return err
	}
	if err := flawless(who.Name, diagnostics); err != nil {
		return err
	}
	answer := api.Installed{
		V: api.Version, User: who.Name, Entries: len(file.Entries), Diagnostics: api.NewDiagnostics(diagnostics),
	}
	if err := d.install(ctx, c, who, r, &answer); err != nil {
		return err
	}
	d.note(ctx, c, "REPLACE", who.Name)
	s.takeIn(ctx, c, &answer)
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

// install replaces the table of a user, keeping what it said.
func (d *crontabWriter) install(ctx context.Context, c *call.Call, who account.Account, r api.InstallRequest, answer *api.Installed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.look(who)
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
		d.remember(ctx, answer, c.Now, who, old)
	}
	if err := spool.Install(d.Places, who, d.addHeader(r.File, string(r.Text), c.Now)); err != nil {
		return cannot("install", who, err)
	}
	d.save(ctx, answer, store.Revision{
		File: old.path, User: who.Name, UID: who.UID, At: c.Now, By: c.Peer.String(), How: store.RevisionInstalled, Text: r.Text,
	})
	return nil
}

// addHeader puts the header above a table, where the family has one.
func (d *crontabWriter) addHeader(file, text string, now time.Time) string {
	if !d.Places.Header {
		return text
	}
	return spool.Header(file, now.In(d.zone()), d.Version) + text
}

func (d *crontabWriter) zone() *time.Location {
	if d.Host.Zone == nil {
		return time.UTC
	}
	return d.Host.Zone
}

func (s *Server) removeCrontab(ctx context.Context, c *call.Call) error {
	d, who, err := s.askedFor(ctx, c)
	if err != nil {
		return err
	}
	end, err := d.pace(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	answer := api.Installed{V: api.Version, User: who.Name, Gone: true}
	if err := d.remove(ctx, c, who, store.RevisionRemoved, &answer); err != nil {
		return err
	}
	s.takeIn(ctx, c, &answer)
	return c.Answer(answer)
}

// remove removes the table of a user, keeping what it said.
func (d *crontabWriter) remove(ctx context.Context, c *call.Call, who account.Account, how string, answer *api.Installed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.look(who)
	answer.File = old.path
	if old.missing {
		return &api.Error{Kind: api.NotFound, What: noCrontab + who.Name}
	}
	if err == nil {
		d.remember(ctx, answer, c.Now, who, old)
		file, _ := d.parse(old.path, who, old.body)
		answer.Entries = len(file.Entries)
	}
	if err := spool.Remove(d.Places, who); err != nil {
		return cannot("remove", who, err)
	}
	d.note(ctx, c, "DELETE", who.Name)
	d.save(ctx, answer, store.Revision{
		File: old.path, User: who.Name, UID: who.UID, At: c.Now, By: c.Peer.String(), How: how, Gone: true,
	})
	return nil
}

const noCrontab = "no crontab for "

// remember makes sure that what is about to be replaced can be had back, also
// when that is nothing.
func (d *crontabWriter) remember(ctx context.Context, answer *api.Installed, now time.Time, who account.Account, old installed) {
	answer.Before = d.save(ctx, answer, store.Revision{
		File: old.path, User: who.Name, UID: who.UID, At: now, How: store.RevisionSeen, Gone: old.missing, Text: []byte(old.body),
	})
}

// save stores a version. If the history cannot be written, the crontab is changed anyway, with a
// notice to the caller.
func (d *crontabWriter) save(ctx context.Context, answer *api.Installed, r store.Revision) int64 {
	id, err := d.Revisions.SaveRevision(context.WithoutCancel(ctx), r)
	if err != nil {
		answer.Before = 0
		answer.Notice = join(answer.Notice, "this change cannot be undone, as the history cannot be written: "+err.Error())
	}
	return id
}

func join(a, b string) string { return strings.TrimPrefix(a+"; "+b, "; ") }

// takeIn waits until the daemon has read the tables again.
func (s *Server) takeIn(ctx context.Context, c *call.Call, answer *api.Installed) {
	err := s.writer.reloads.after(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		_, err := s.backend.Reload(ctx)
		return err
	})
	if err != nil && c.Peer.Admin { // it may be about files that are not the caller's business
		answer.Notice = join(answer.Notice, "the daemon reported while it read its crontabs: "+err.Error())
	}
}
