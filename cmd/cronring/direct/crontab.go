package direct

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
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

// Crontab returns the crontab of a user, root for "", on request with its header.
func (d *Crontabs) Crontab(ctx context.Context, user string, _, header bool) (api.Crontab, error) {
	who, err := d.owner(ctx, user)
	if err != nil {
		return api.Crontab{}, err
	}
	raw, err := d.paths.ReadCrontab(who)
	if errors.Is(err, fs.ErrNotExist) {
		return api.Crontab{User: who.Name, Missing: true, Sum: spool.NoCrontab}, nil
	}
	if err != nil {
		return api.Crontab{}, err
	}
	text := raw
	body := d.body(raw)
	if !header {
		text = body
	}
	return api.Crontab{User: who.Name, Text: []byte(text), Sum: spool.Sum(body)}, nil
}

func (d *Crontabs) body(raw string) string {
	if d.paths.Header {
		return spool.StripHeader(raw)
	}
	return raw
}

// InstallCrontab writes the crontab of a user. If Base is set, the installed text must
// match it.
func (d *Crontabs) InstallCrontab(ctx context.Context, r api.InstallRequest) (api.Installed, error) {
	who, err := d.owner(ctx, r.User)
	if err != nil {
		return api.Installed{}, err
	}
	if r.Base != "" {
		now, err := d.Crontab(ctx, r.User, false, false)
		if err != nil {
			return api.Installed{}, err
		}
		if now.Sum != r.Base {
			return api.Installed{}, &api.Error{Kind: api.Conflict, What: "the crontab of " + who.Name + " was changed meanwhile"}
		}
	}
	text := string(r.Text)
	if d.paths.Header {
		text = spool.Header(r.File, time.Now(), api.Release()) + text
	}
	return api.Installed{User: who.Name, Notice: Notice}, spool.Install(d.paths, who, text)
}

// RemoveCrontab removes the crontab of a user.
func (d *Crontabs) RemoveCrontab(ctx context.Context, user string) (api.Installed, error) {
	who, err := d.owner(ctx, user)
	if err != nil {
		return api.Installed{}, err
	}
	done := api.Installed{User: who.Name, Gone: true, Notice: Notice}
	if raw, err := d.paths.ReadCrontab(who); err == nil {
		file, _ := crontab.Parse(who.Name, raw, crontab.Config{Owner: who.Name})
		done.Entries = len(file.Entries)
	}
	err = spool.Remove(d.paths, who)
	if errors.Is(err, fs.ErrNotExist) {
		return done, &api.Error{Kind: api.NotFound, What: "no crontab for " + who.Name}
	}
	return done, err
}

// EndEdit does nothing: the daemon would only log it.
func (d *Crontabs) EndEdit(context.Context, string) error { return nil }
