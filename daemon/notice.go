package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/runmail"
	"github.com/cronring/cronring/daemon/spawn"
)

// openMail opens the queue of letters. A daemon that was given files by name prints what jobs print,
// and mails nothing.
func (l *loop) openMail() {
	if !l.options.host() {
		return
	}
	l.mailer = runmail.Open(runmail.Options{
		Dir: filepath.Join(l.options.State, "mail"), Config: l.options.mailConfig, JobPath: l.options.jobPath(),
		Accounts: l.accounts, Exec: l.spawner.Exec, Away: l.isAway, Log: l.log,
		Say: func(line mail.Line) {
			l.logWriter.Cron(journal.CronLine{From: journal.Child, Who: line.Who, Word: line.Word, Text: line.Text})
		},
	})
}

// openNotices opens the queue of notifications.
func (l *loop) openNotices() {
	host, _ := os.Hostname()
	l.notices = notify.Open(notify.Options{
		Dir: filepath.Join(l.options.State, "notices"), Host: host, Version: l.options.Version,
		Mail: l.mailNotice, Run: l.runHook, Log: l.log,
	})
	l.notices.Configure(l.config.current().Channels)
}

// notify writes a notification to the log and to subscribers, and passes it to its channels.
func (l *loop) notify(n job.Notice) {
	attrs := []slog.Attr{
		slog.String("on", string(n.On)), slog.String("job", string(n.Job)), slog.String("user", n.User),
		slog.String(journal.IDKey, journal.NoticeID),
	}
	if n.Run != nil {
		attrs = append(attrs, slog.Int64("run", int64(n.Run.ID)))
	}
	if n.Reason != "" {
		attrs = append(attrs, slog.String("reason", string(n.Reason)))
	}
	if n.Streak > 0 {
		attrs = append(attrs, slog.Int("streak", n.Streak))
	}
	l.log.LogAttrs(context.Background(), noticeLevel(n.On), n.Text, attrs...)
	l.hub.Publish(api.Event{Notice: &n})
	l.notices.Give(n)
}

func noticeLevel(on job.NoticeOn) slog.Level {
	switch on {
	case job.OnRecover, job.OnSuccess, job.OnStart:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// runHook runs a channel's program. As with mailers, a program that is running when the daemon
// leaves is waited for, and further ones are left to the next daemon.
func (l *loop) runHook(ctx context.Context, p notify.Program) (job.Outcome, []byte, error) {
	if l.isAway() {
		return job.Outcome{}, nil, notify.ErrNotNow
	}
	a, err := l.accounts.Find(ctx, p.User)
	if err != nil {
		return job.Outcome{}, nil, err
	}
	env := []string{
		"HOME=" + cmp.Or(a.Home, "/"), "LOGNAME=" + a.Name, "USER=" + a.Name, "SHELL=/bin/sh",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
	r, err := l.spawner.Exec(ctx, spawn.Tool{
		Argv: p.Argv, Env: append(env, p.Env...), As: &a, Stdin: bytes.NewReader(p.Stdin), MaxOutput: 4 << 10,
	})
	return r.Outcome, r.Errput, err
}

// mailNotice queues an email of a notification.
func (l *loop) mailNotice(ctx context.Context, c *notify.Channel, m *notify.Message) error {
	v := l.view.Load()
	switch {
	case v == nil: // no crontab is read yet
		return notify.ErrNotNow
	case l.mailer == nil:
		return &notify.FinalError{Why: "a daemon that was given crontabs by name sends no mail"}
	}
	return l.mailer.Notice(ctx, c, m, entryOf(v, m.Job, m.User))
}

// entryOf returns the current entry of a user's job, or nil.
func entryOf(v *view.View, id job.ID, user string) *crontab.Entry {
	i, ok := v.Find(id)
	if !ok || v.Entry(i).User() != user {
		return nil
	}
	return v.Entry(i)
}

// isAway reports whether running jobs are about to be left.
func (l *loop) isAway() bool {
	select {
	case <-l.away:
		return true
	default:
		return false
	}
}

// TryChannel sends a test notice through a channel; one to a job's own mail goes
// to root.
func (b backend) TryChannel(ctx context.Context, name string) error {
	err := b.notices.Try(ctx, name, job.Notice{
		At: b.clock.Now().Wall, On: job.OnSuccess, Job: "test", User: "root", Text: "This is a test: nothing has happened.",
	})
	if unknown, ok := errors.AsType[*notify.UnknownError](err); ok {
		return &api.Error{Kind: api.NotFound, What: "cannot send a test notice: " + unknown.Error(), Fix: "cronring config show"}
	}
	return err
}
