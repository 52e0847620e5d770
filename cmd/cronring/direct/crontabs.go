package direct

import (
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

// HostCrontabs is the crontabs of this host without a daemon, for root alone.
type HostCrontabs struct {
	*Crontabs
	source spool.SourceOptions
}

// NewHostCrontabs returns the crontabs of this host.
func NewHostCrontabs() *HostCrontabs {
	host := config.ThisHost()
	d := NewCrontabs(host, host.Paths(""))
	return &HostCrontabs{d, spool.SourceOptions{Host: host, Paths: d.paths, Accounts: d.accounts}}
}

// CrontabFiles lists the crontabs of the host.
func (d *HostCrontabs) CrontabFiles(ctx context.Context) ([]api.CrontabFile, error) {
	var all []api.CrontabFile
	for _, t := range d.scan(ctx).Crontabs {
		user, _ := d.paths.IsUserCrontab(t.Name)
		all = append(all, api.CrontabFile{File: t.Name, User: user, Entries: len(t.Entries)})
	}
	return all, nil
}

// Places returns the paths of the host's own system crontabs.
func (d *HostCrontabs) Places(context.Context) (*api.Places, error) {
	return &api.Places{Crontab: d.paths.Crontab, Anacrontab: d.paths.Anacrontab, CronD: d.paths.CronD}, nil
}

func (d *HostCrontabs) scan(ctx context.Context) spool.Snapshot {
	return spool.OpenSource(d.source).Scan(ctx)
}

// place finds out whose crontab is meant, or that it is one of the system.
func (d *HostCrontabs) place(ctx context.Context, file, user string) (at string, who account.Account, users bool, err error) {
	name, users := user, file == ""
	if !users {
		name, users = d.paths.IsUserCrontab(file)
	}
	if users {
		if who, err = d.owner(ctx, name); err == nil {
			at, err = d.paths.UserCrontab(who.Name)
		}
		return at, who, true, err
	}
	if !d.paths.IsSystemCrontab(file) {
		err = &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot find the crontab %q", file),
			Why: "cron reads only crontabs in " + d.paths.Crontab + ", " + d.paths.CronD + " and " + d.paths.Users,
		}
	}
	return file, who, false, err
}

// CrontabText returns the crontab at a path, or that of a user.
func (d *HostCrontabs) CrontabText(ctx context.Context, file, user string) (api.CrontabText, error) {
	at, who, users, err := d.place(ctx, file, user)
	if err != nil {
		return api.CrontabText{}, err
	}
	config := d.source.Config(at, false)
	t := api.CrontabText{
		CrontabFile: api.CrontabFile{File: at, User: who.Name},
		Format:      api.FormatOf(config.Format), Family: api.FamilyOf(config.Family), Account: "root", Privileged: true, Zone: d.host.Zone.String(),
		Calendars: api.NewCalendars(config.Calendars),
	}
	if users {
		old, err := d.UserCrontab(ctx, who.Name, "")
		t.Header, t.Text, t.Sum, t.Missing, t.Account, t.Privileged = old.Header, old.Text, old.Sum, old.Missing, who.Name, who.UID == 0
		return t, err
	}
	t.StandsIn = !d.paths.AnacronInstalled()
	text, err := atomicfile.ReadRegular(at, crontab.MaxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Missing, t.Sum = true, spool.NoCrontab
		return t, nil
	case err != nil:
		return t, cli.FileError(at, err)
	}
	t.Text, t.Sum = []byte(text), spool.Sum(text)
	return t, nil
}

// InstallCrontabFile writes or removes a crontab. If Base is set, the installed text must
// match it.
func (d *HostCrontabs) InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error) {
	now, err := d.CrontabText(ctx, r.File, r.User)
	if err != nil {
		return api.Installed{}, err
	}
	if r.Base != "" && now.Sum != r.Base {
		return api.Installed{}, &api.Error{Kind: api.Conflict, What: now.File + " was changed meanwhile"}
	}
	if passed := d.source.Passes(now.File); passed != nil && !r.Gone {
		return api.Installed{}, &api.Error{Kind: api.Usage, What: "cannot write " + now.File + ": cron would not read it", Why: passed.Why}
	}
	file, _ := crontab.Parse(now.File, string(r.Text), now.Config(spool.LoadZone))
	done := api.Installed{User: now.User, File: now.File, Gone: r.Gone, Entries: len(file.Entries), Notice: Notice}
	if !now.Missing {
		kept, err := keep(now)
		if err != nil {
			return api.Installed{}, err
		}
		done.Notice += "; the previous version is " + kept
	}
	return done, d.write(ctx, now, r)
}

// replacedDir is where previous versions of crontabs are kept that were changed without the
// daemon, which keeps revisions. Only root can read it.
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

func (d *HostCrontabs) write(ctx context.Context, now api.CrontabText, r api.CrontabFileRequest) error {
	switch {
	case now.User != "":
		_, err := d.Crontabs.InstallCrontabFile(ctx, api.CrontabFileRequest{User: now.User, Source: now.File, Text: r.Text, Gone: r.Gone})
		return err
	case r.Gone:
		return spool.Withdraw(d.paths, now.File)
	}
	return spool.Restore(d.paths, now.File, string(r.Text))
}

// List finds jobs by name, glob or FILE:LINE. Other references need the daemon.
func (d *HostCrontabs) List(ctx context.Context, q api.Query) ([]job.Status, error) {
	version := review.NewVersion(d.scan(ctx).Crontabs...)
	var found []job.Status
	for _, ref := range q.Refs {
		before := len(found)
		for _, j := range version.Jobs() {
			if names(ref, j) {
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

// names reports whether a reference matches a job.
func names(ref string, j job.Job) bool {
	place := fmt.Sprintf("%s:%d", j.Crontab, j.Line)
	return job.IsGlob(ref) && j.ID.Matches(ref) || ref == string(j.ID) || ref == j.ID.Full() || ref == place || strings.HasSuffix(place, "/"+ref)
}
