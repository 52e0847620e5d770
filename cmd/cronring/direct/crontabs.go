package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/spool"
)

// Crontabs reads and changes the crontabs of a host.
type Crontabs struct {
	source spool.SourceOptions
	paths  spool.Paths
	keeps  bool // a copy of each version that is replaced
}

// NewCrontabs returns the crontabs of a host for crontab(1).
func NewCrontabs(host spool.Host, places spool.Paths) *Crontabs {
	return &Crontabs{spool.SourceOptions{Host: host, Paths: places, Accounts: account.New(account.Options{})}, places, false}
}

// NewHostCrontabs returns the crontabs of this host for cronring, which keeps a copy of each version
// that it replaces.
func NewHostCrontabs() *Crontabs {
	host := config.ThisHost()
	d := NewCrontabs(host, host.Paths(""))
	d.keeps = true
	return d
}

// CrontabFiles lists the crontabs of the host.
func (d *Crontabs) CrontabFiles(ctx context.Context) ([]api.CrontabFile, error) {
	var all []api.CrontabFile
	for _, t := range d.scan(ctx).Crontabs {
		user, _ := d.paths.IsUserCrontab(t.Name)
		all = append(all, api.CrontabFile{File: t.Name, User: user, Entries: len(t.Entries)})
	}
	return all, nil
}

// Places returns the paths of the host's own system crontabs.
func (d *Crontabs) Places(context.Context) (*api.Places, error) {
	return &api.Places{Crontab: d.paths.Crontab, Anacrontab: d.paths.Anacrontab, CronD: d.paths.CronD}, nil
}

func (d *Crontabs) scan(ctx context.Context) spool.Snapshot {
	return spool.OpenSource(d.source).Scan(ctx)
}

// place is a system crontab, or the crontab of a user.
type place struct {
	path string
	user bool
	who  account.Account
}

// placeOf returns the place of a file, or of the crontab of a user; "" is root.
func (d *Crontabs) placeOf(ctx context.Context, file, user string) (place, error) {
	name, isUsers := user, file == ""
	if !isUsers {
		name, isUsers = d.paths.IsUserCrontab(file)
	}
	if isUsers {
		who, err := d.owner(ctx, cmp.Or(name, "root"))
		if err != nil {
			return place{}, err
		}
		path, err := d.paths.UserCrontab(who.Name)
		return place{path, true, who}, err
	}
	if !d.paths.IsSystemCrontab(file) {
		return place{}, &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot find the crontab %q", file),
			Why: "cron reads only crontabs in " + d.paths.Crontab + ", " + d.paths.CronD + " and " + d.paths.Users,
		}
	}
	return place{path: file}, nil
}

func (d *Crontabs) owner(ctx context.Context, name string) (account.Account, error) {
	who, err := d.source.Accounts.Find(ctx, name)
	if account.IsUnknown(err) {
		return who, &api.Error{Kind: api.NotFound, What: "user `" + name + "' unknown"}
	}
	if err != nil {
		return who, err
	}
	err = d.paths.MayUse(d.source.Host.Family, "root", name)
	if barred, ok := errors.AsType[*spool.BarredError](err); ok {
		return who, &api.Error{Kind: api.NotAllowed, What: "The user " + barred.Name + " cannot use this program (crontab)", Why: barred.Why}
	}
	return who, err
}

// CrontabText returns the crontab at a path, or that of a user.
func (d *Crontabs) CrontabText(ctx context.Context, file, user string) (api.CrontabText, error) {
	p, err := d.placeOf(ctx, file, user)
	if err != nil {
		return api.CrontabText{}, err
	}
	return d.read(p)
}

// UserCrontab returns the crontab of a user.
func (d *Crontabs) UserCrontab(ctx context.Context, user, _ string) (api.CrontabText, error) {
	return d.CrontabText(ctx, "", user)
}

// EndEdit does nothing: the daemon would only log it.
func (d *Crontabs) EndEdit(context.Context, string) error { return nil }

func (d *Crontabs) read(p place) (api.CrontabText, error) {
	config := d.source.Config(p.path, false)
	t := api.CrontabText{
		CrontabFile: api.CrontabFile{File: p.path, User: p.who.Name}, Sum: spool.NoCrontab,
		Format: api.FormatOf(config.Format), Family: api.FamilyOf(config.Family), Account: "root", Privileged: true, Zone: d.source.Host.Zone.String(),
		StandsIn: !p.user && !d.paths.AnacronInstalled(), Calendars: api.NewCalendars(config.Calendars),
	}
	var raw string
	var err error
	if p.user {
		t.Account, t.Privileged = p.who.Name, p.who.UID == 0
		raw, err = d.paths.ReadCrontab(p.who)
	} else {
		raw, err = atomicfile.ReadRegular(p.path, crontab.MaxText)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Missing = true
		return t, nil
	case err != nil && !p.user:
		return t, cli.FileError(p.path, err)
	case err != nil:
		return t, err
	}
	body := d.paths.Body(p.path, raw)
	t.Header, t.Text, t.Sum = []byte(strings.TrimSuffix(raw, body)), []byte(body), spool.Sum(body)
	t.Entries = entries(t, body)
	return t, nil
}

// entries returns the number of entries of a text in the place of a crontab.
func entries(t api.CrontabText, text string) int {
	file, _ := crontab.Parse(t.File, text, t.Config(spool.LoadZone))
	return len(file.Entries)
}

// notice is shown after a change without a daemon. The next daemon finds the change and
// keeps it as a revision.
const notice = "written without the daemon: it counts from the daemon's next start on"

// InstallCrontabFile writes or removes a crontab. If Base is set, the installed text must
// match it.
func (d *Crontabs) InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error) {
	p, err := d.placeOf(ctx, r.File, r.User)
	if err != nil {
		return api.Installed{}, err
	}
	quoted := p.path
	if p.user {
		quoted = "the crontab of " + p.who.Name
	}
	old, err := d.read(p)
	switch {
	case err != nil && (!r.Strict || r.Base != ""):
		return api.Installed{}, err
	case r.Base != "" && r.Base != old.Sum:
		return api.Installed{}, &api.Error{Kind: api.Conflict, What: quoted + " was changed meanwhile"}
	case r.Gone && old.Missing:
		return api.Installed{}, &api.Error{Kind: api.NotFound, What: "no crontab for " + cmp.Or(p.who.Name, p.path)}
	}
	if passed := d.source.Passes(p.path); passed != nil && !r.Gone {
		return api.Installed{}, &api.Error{Kind: api.Usage, What: "cannot write " + p.path + ": cron would not read it", Why: passed.Why}
	}
	done := api.Installed{User: p.who.Name, File: p.path, Gone: r.Gone, Entries: old.Entries, Notice: notice}
	if !r.Gone {
		done.Entries = entries(old, string(r.Text))
	}
	if d.keeps && !old.Missing {
		kept, err := keep(old)
		if err != nil {
			return api.Installed{}, err
		}
		done.Notice += "; the previous version is " + kept
	}
	return done, d.write(p, r)
}

func (d *Crontabs) write(p place, r api.CrontabFileRequest) error {
	text := string(r.Text)
	switch {
	case p.user && r.Gone:
		return spool.Remove(d.paths, p.who)
	case p.user && d.paths.Header:
		return spool.Install(d.paths, p.who, spool.Header(cmp.Or(r.Source, p.path), time.Now(), api.Release())+text)
	case p.user:
		return spool.Install(d.paths, p.who, text)
	case r.Gone:
		return spool.Withdraw(d.paths, p.path)
	}
	return spool.Restore(d.paths, p.path, text)
}

// replacedDir contains the previous versions of crontabs that were changed without the daemon, which
// would keep revisions. Only root can read it.
const replacedDir = "/var/lib/cronring/replaced"

// keep writes a copy of a crontab, and returns its path.
func keep(t api.CrontabText) (path string, err error) {
	name := strings.ReplaceAll(strings.TrimPrefix(t.File, "/"), "/", "-")
	now := time.Now().UTC()
	path = filepath.Join(replacedDir, fmt.Sprintf("%s.%s.%09d", name, now.Format("20060102T150405Z"), now.Nanosecond()))
	err = os.MkdirAll(replacedDir, 0o700)
	if err == nil {
		err = atomicfile.Write(path, t.Text)
	}
	if err != nil {
		return "", fmt.Errorf("keep the previous version of %s: %w", t.File, err)
	}
	return path, nil
}

// List finds jobs by name, glob or FILE:LINE. Other references need the daemon.
func (d *Crontabs) List(ctx context.Context, q api.Query) ([]job.Status, error) {
	version := review.NewVersion(d.scan(ctx).Crontabs...)
	var found []job.Status
	for _, ref := range q.Refs {
		before := len(found)
		for _, j := range version.Jobs() {
			if matches(ref, j) {
				found = append(found, job.Status{Job: j})
			}
		}
		if len(found) == before {
			return nil, &api.Error{
				Kind: api.NotFound, What: fmt.Sprintf("cannot find %q: no such job", ref),
				Why: "without the daemon a job is known by its name or FILE:LINE", Fix: "systemctl start cronring",
			}
		}
	}
	return found, nil
}

// matches reports whether a reference refers to a job.
func matches(ref string, j job.Job) bool {
	place := fmt.Sprintf("%s:%d", j.Crontab, j.Line)
	return job.IsGlob(ref) && j.ID.Matches(ref) || ref == string(j.ID) || ref == j.ID.Full() || ref == place || strings.HasSuffix(place, "/"+ref)
}
