package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/runmail"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/store"
	"github.com/cronring/cronring/daemon/usual"
)

// openMail opens the queue of letters. A daemon that was given files by name is often in a container
// without a mail transfer agent: it mails only with a configured command.
func (d *shared) openMail() {
	if !d.options.host() && d.options.Config.Mail.Command == "" {
		return
	}
	d.mailer = runmail.Open(runmail.Options{
		Dir: filepath.Join(d.options.State, "mail"), Config: d.options.mailConfig, JobPath: d.options.jobPath(),
		Accounts: d.accounts, Exec: d.spawner.Exec, Away: d.isAway, Log: d.log,
		CronLog: func(line mail.Line) {
			d.logWriter.Cron(line.Who, journal.CronLine{From: journal.Child, Who: line.Who, Word: line.Word, Text: line.Text})
		},
	})
}

// reportNoMail logs that the daemon sends no mail, if an entry requests some.
func (d *shared) reportNoMail() {
	if d.mailer != nil || d.options.Config.Mail.Off {
		return
	}
	v := d.view.Load()
	for i := range v.Len() {
		if asksForMail(v.Entry(i)) {
			d.log.Warn("no mail is sent, because this daemon was given crontabs by name: set mail.command in the configuration, or mail.off to silence this", "job", v.ID(i))
			return
		}
	}
}

// asksForMail reports whether an entry has an option or a variable for mail.
func asksForMail(e *crontab.Entry) bool {
	o := e.Options()
	asks := slices.ContainsFunc(e.Env(), func(v string) bool { return strings.HasPrefix(v, "MAILTO=") && v != "MAILTO=" })
	return asks && o.Mail != option.MailNever || o.MailTo != nil || o.Mail == option.MailAlways || o.Mail == option.MailFailure ||
		slices.Contains(o.Notify, option.MailChannel)
}

// openNotices opens the queue of notifications.
func (d *shared) openNotices() {
	host, _ := os.Hostname()
	d.notices = notify.Open(notify.Options{
		Dir: filepath.Join(d.options.State, "notices"), Host: host, Version: d.options.Version,
		Mail: d.mailNotice, Run: d.runHook, Log: d.log,
	})
	d.notices.Configure(d.config.current().Channels)
}

// notify writes a notification to the log and to subscribers, and passes it to its channels with the
// end of the output of its run.
func (d *shared) notify(n job.Notice, ended []spawn.Ended) {
	if n.On == job.OnOdd {
		d.startComparison(n)
		return
	}
	if n.Ping != "" {
		d.notices.Enqueue(n, endOfOutput(n.Run, ended))
		return
	}
	d.send(n, endOfOutput(n.Run, ended))
}

// mostComparisons is the maximum number of durations of all users that wait for a comparison.
const mostComparisons = 512

// startComparison sends a notification if the duration of its run is unusual. There is one comparison
// at a time, because each reads many runs. Those that still wait when the loop ends are dropped.
func (d *shared) startComparison(n job.Notice) {
	if !d.compared.Take(n.User, 1) {
		d.log.Warn("a duration is not compared with the history: too many runs of this user end at a time", "job", n.Job, "user", n.User)
		return
	}
	d.background.Go(func() {
		defer d.compared.Return(n.User, 1)
		d.comparing.Lock()
		defer d.comparing.Unlock()
		if d.compareCtx.Err() == nil && d.isOdd(&n) {
			d.send(n, "")
		}
	})
}

// isOdd reports whether the duration of a run is unusual, and adds the numbers to its notification.
func (d *shared) isOdd(n *job.Notice) bool {
	runs, err := d.history.Runs(d.compareCtx, store.Filter{Jobs: []job.ID{n.Job}, Before: n.Run.ID, Limit: 2 * usual.Most})
	if err != nil {
		d.log.Warn("a duration cannot be compared with the history", "job", n.Job, "error", err)
		return false
	}
	var durations []time.Duration
	for i := range runs {
		if r := &runs[i]; r.User == n.User && r.Verdict == job.VerdictOK && !r.Started.IsZero() && len(durations) < usual.Most {
			durations = append(durations, r.Length())
		}
	}
	took, s := n.Run.Length(), usual.SpreadOf(durations)
	if len(durations) < usual.Fewest || !s.Odd(took) {
		return false
	}
	n.Text += fmt.Sprintf(" That is odd: the median of its last %d successes is %s, with a deviation (MAD) of %s.",
		len(durations), display.Length(s.Median), display.Length(s.Deviation))
	return true
}

func (d *shared) send(n job.Notice, output string) {
	attrs := []slog.Attr{
		slog.String("on", string(n.On)), slog.String("job", string(n.Job)), slog.String(journal.UserKey, n.User),
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
	d.log.LogAttrs(context.Background(), noticeLevel(n.On), n.Text, attrs...)
	d.hub.Publish(api.Event{Notice: &n})
	d.notices.Enqueue(n, output)
}

// endOfOutput returns the last lines that a run printed, if it has just ended.
func endOfOutput(r *job.Run, ended []spawn.Ended) string {
	if r == nil {
		return ""
	}
	i := slices.IndexFunc(ended, func(e spawn.Ended) bool { return e.Run == r.ID })
	if i < 0 {
		return ""
	}
	text, _ := mail.Output(ended[i].Output)
	all, _ := io.ReadAll(text) // it is in memory
	return notify.Tail(string(all))
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
func (d *shared) runHook(ctx context.Context, p notify.Program) (job.Outcome, []byte, error) {
	if d.isAway() {
		return job.Outcome{}, nil, notify.ErrNotNow
	}
	a, err := d.accounts.Find(ctx, p.User)
	if err != nil {
		return job.Outcome{}, nil, err
	}
	env := []string{
		"HOME=" + cmp.Or(a.Home, "/"), "LOGNAME=" + a.Name, "USER=" + a.Name, "SHELL=/bin/sh",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
	r, err := d.spawner.Exec(ctx, spawn.Tool{
		Argv: p.Argv, Env: append(env, p.Env...), As: &a, Stdin: bytes.NewReader(p.Stdin), MaxOutput: 4 << 10,
	})
	return r.Outcome, r.Errput, err
}

// mailNotice queues an email of a notification.
func (d *shared) mailNotice(ctx context.Context, c *notify.Channel, m *notify.Message) error {
	select {
	case <-d.loaded: // before that, the view has no entries
	case <-ctx.Done():
		return notify.ErrNotNow
	}
	if d.mailer == nil {
		return &notify.FinalError{Why: "this daemon was given crontabs by name and sends no mail: set mail.command in the configuration"}
	}
	return d.mailer.Notice(ctx, c, m, entryOf(d.view.Load(), m.Job, m.User))
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
func (d *shared) isAway() bool {
	select {
	case <-d.away:
		return true
	default:
		return false
	}
}

// TryChannel sends a test notification through a channel; one to a job's own mail goes to root.
func (b backend) TryChannel(ctx context.Context, name string) error {
	err := b.notices.Try(ctx, name, job.Notice{
		At: b.clock.Now().Wall, On: job.OnSuccess, Job: "test", User: "root", Text: "This is a test: nothing has happened.",
	})
	if unknown, ok := errors.AsType[*notify.UnknownError](err); ok {
		return &api.Error{Kind: api.NotFound, What: "cannot send a test notice: " + unknown.Error(), Fix: "cronring config show"}
	}
	return err
}
