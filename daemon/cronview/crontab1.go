package cronview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/hostprogram"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/revision"
)

// patience limits how long a program of the host may take.
const patience = 10 * time.Second

// userCrontabs are users' crontabs, which crontab(1) of the host's own cron changes.
type userCrontabs struct {
	paths spool.Paths
	self  string
	root  bool

	// The user's own crontab as crontab(1) printed it last, and when the spool changed before that.
	own     string
	ownErr  error
	changed time.Time
}

// ownCrontab returns the crontab of a user who may not read the spool, and whether it changed. It runs
// crontab(1), which logs each call, only after a change of the spool.
func (u *userCrontabs) ownCrontab(ctx context.Context) (text string, changed bool, err error) {
	spool, err := os.Stat(u.paths.Users)
	if err != nil {
		return "", false, fs.ErrNotExist
	}
	if at := spool.ModTime(); !at.Equal(u.changed) {
		before := u.own
		u.own, u.ownErr = u.list(ctx, u.self)
		u.changed, changed = at, u.own != before
	}
	return u.own, changed, u.ownErr
}

// ReadCrontab returns the crontab of a user, as the view has read it.
func (u *userCrontabs) ReadCrontab(who account.Account) (string, error) {
	if u.root {
		return u.paths.ReadCrontab(who)
	}
	return u.list(context.Background(), who.Name)
}

// WriteCrontab installs or removes the crontab of a user.
func (u *userCrontabs) WriteCrontab(who account.Account, text string, gone bool) error {
	if gone {
		_, err := u.crontab(context.Background(), who.Name, "", "-r")
		return err
	}
	_, err := u.crontab(context.Background(), who.Name, text, "-")
	return err
}

func (u *userCrontabs) list(ctx context.Context, name string) (string, error) {
	text, err := u.crontab(ctx, name, "", "-l")
	if err != nil && strings.Contains(err.Error(), "no crontab for") {
		return "", fs.ErrNotExist
	}
	return text, err
}

// crontab runs crontab(1). Only root may name another user.
func (u *userCrontabs) crontab(ctx context.Context, name, in string, args ...string) (string, error) {
	if u.root {
		args = append([]string{"-u", name}, args...)
	} else if name != u.self {
		return "", fmt.Errorf("only root may read and change the crontab of %s", display.Quote(name))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "crontab", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, messages := &hostprogram.Bounded{Room: crontab.MaxText}, &hostprogram.Bounded{Room: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), out, messages
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(messages.String()); text != "" {
			return "", errors.New("crontab: " + display.Text(text))
		}
		return "", err
	}
	return out.String(), nil
}

// maxAnswer limits what is read of the output of a program of the host.
const maxAnswer = 16 << 20

// run runs a program of the host.
func run(ctx context.Context, argv ...string) (stdout []byte, status int, err error) {
	return hostprogram.Run(ctx, hostprogram.Limits{Time: patience, Output: maxAnswer}, argv...)
}

// noRevisions keeps no versions of crontabs.
type noRevisions struct{}

func (noRevisions) SaveRevision(context.Context, revision.Revision) (int64, error) { return 0, nil }
func (noRevisions) Revision(context.Context, int64) (r revision.Revision, ok bool, err error) {
	return r, false, nil
}
func (noRevisions) Revisions(context.Context, revision.Filter) ([]revision.Revision, error) {
	return nil, nil
}
func (noRevisions) NewestRevisions(context.Context) (map[string]revision.Revision, error) {
	return nil, nil
}
