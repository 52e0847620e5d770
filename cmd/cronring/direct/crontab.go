package direct

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/spool"
)

// Crontabs reads and changes users' crontabs without a daemon. Only root may use it:
// another user who could write the spool could run commands as anybody.
type Crontabs struct {
	host     spool.Host
	paths    spool.Paths
	accounts spool.Accounts
}

// NewCrontabs returns the user crontabs of a host.
func NewCrontabs(host spool.Host, places spool.Paths) *Crontabs {
	return &Crontabs{host: host, paths: places, accounts: account.New(account.Options{})}
}

// Notice is shown after a change without a daemon. The next daemon finds the change and
// keeps it as a revision.
const Notice = "written without the daemon: it counts from the daemon's next start on"

func (d *Crontabs) owner(ctx context.Context, name string) (account.Account, error) {
	name = cmp.Or(name, "root")
	who, err := d.accounts.Find(ctx, name)
	if _, unknown := errors.AsType[*account.UnknownError](err); unknown {
		return who, &api.Error{Kind: api.NotFound, What: "user `" + name + "' unknown"}
	}
	if err != nil {
		return who, err
	}
	err = d.paths.MayUse(d.host.Family, "root", name)
	if barred, ok := errors.AsType[*spool.BarredError](err); ok {
		return who, &api.Error{Kind: api.NotAllowed, What: "The user " + barred.Name + " cannot use this program (crontab)", Why: barred.Why}
	}
	return who, err
}

// UserCrontab returns the crontab of a user, root for "".
func (d *Crontabs) UserCrontab(ctx context.Context, user, _ string) (api.CrontabText, error) {
	who, err := d.owner(ctx, user)
	if err != nil {
		return api.CrontabText{}, err
	}
	raw, err := d.paths.ReadCrontab(who)
	if errors.Is(err, fs.ErrNotExist) {
		return api.CrontabText{CrontabFile: api.CrontabFile{User: who.Name, Missing: true}, Sum: spool.NoCrontab}, nil
	}
	body := raw
	if d.paths.Header {
		body = spool.StripHeader(raw)
	}
	return api.CrontabText{
		CrontabFile: api.CrontabFile{User: who.Name}, Header: []byte(strings.TrimSuffix(raw, body)), Text: []byte(body), Sum: spool.Sum(body),
	}, err
}

// InstallCrontabFile writes or removes the crontab of a user. If Base is set, the installed text must
// match it.
func (d *Crontabs) InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error) {
	who, err := d.owner(ctx, r.User)
	if err != nil {
		return api.Installed{}, err
	}
	done := api.Installed{User: who.Name, Gone: r.Gone, Notice: Notice}
	old, err := d.UserCrontab(ctx, who.Name, "")
	switch {
	case r.Base != "" && err != nil:
		return done, err
	case r.Base != "" && r.Base != old.Sum:
		return done, &api.Error{Kind: api.Conflict, What: "the crontab of " + who.Name + " was changed meanwhile"}
	case old.Missing && r.Gone:
		return done, &api.Error{Kind: api.NotFound, What: "no crontab for " + who.Name}
	case r.Gone:
		file, _ := crontab.Parse(who.Name, string(old.Text), crontab.Config{Owner: who.Name})
		done.Entries = len(file.Entries)
		return done, spool.Remove(d.paths, who)
	}
	text := string(r.Text)
	if d.paths.Header {
		text = spool.Header(r.Source, time.Now(), api.Release()) + text
	}
	return done, spool.Install(d.paths, who, text)
}

// EndEdit does nothing: the daemon would only log it.
func (d *Crontabs) EndEdit(context.Context, string) error { return nil }
