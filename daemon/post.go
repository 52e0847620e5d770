package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/mail/outbox"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/spawn"
)

// mailConfig returns how this host's cron sends mail.
func (l *loop) mailConfig() mail.Config {
	o := &l.options
	host, _ := os.Hostname() // a host without a name is Cron <root@>
	c := mail.Config{
		Family: o.Family, Host: host, FullHost: o.Cron.FullHost, MarkFailed: o.Family == crontab.Debian && journal.Level(o.Cron.LogLevel)&journal.Failures != 0,
		Command: o.Cron.Mailer, Syslog: o.Cron.ToSyslog, Getenv: os.Getenv,
	}
	if o.Config.Mail.Command != "" {
		c.Command = o.Config.Mail.Command
	}
	if o.Config.Mail.Off {
		c.Command = "off"
	}
	return c
}

// mailTakes reports whether output goes into mail now, or is not wanted there;
// otherwise cronie logs it.
func (l *loop) mailTakes() bool {
	c := l.mailConfig()
	return !c.Syslog && (c.Command == "off" || c.Ready())
}

// openPost opens the queue of mails. A daemon that was given files by name
// prints what jobs print, and mails nothing.
func (l *loop) openPost() {
	if !l.options.host() {
		return
	}
	l.post = outbox.Open(outbox.Options{
		Dir: filepath.Join(l.options.State, "mail"), Family: l.options.Family,
		Send: l.send, Log: l.log, Say: l.logMail,
	})
}

func (l *loop) logMail(line mail.Line) {
	l.logWriter.Cron(journal.CronLine{From: journal.Child, Who: line.Who, Word: line.Word, Text: line.Text})
}

var errAway = errors.New("the daemon is being replaced")

// send runs a mailer as the job's user. A mailer that is running when the daemon leaves is waited
// for; further ones are left to the next daemon.
func (l *loop) send(ctx context.Context, d outbox.Delivery) (status int, output string, err error) {
	if l.isAway() {
		return 0, "", errAway
	}
	a, err := l.accounts.Find(ctx, d.User)
	if err != nil {
		return 0, "", err
	}
	tool := spawn.Tool{Argv: d.Argv, Env: d.Env, Dir: d.Dir, As: &a, Stdin: d.Message, MaxOutput: 4 << 10}
	r, err := l.spawner.Exec(ctx, tool)
	if err != nil && ctx.Err() == nil && tool.Dir != "/" { // a home that cannot be entered keeps no job from running, either
		tool.Dir = "/"
		r, err = l.spawner.Exec(ctx, tool)
	}
	if err != nil {
		return 0, "", err
	}
	return r.Outcome.Code<<8 | r.Outcome.Signal, string(r.Output) + string(r.Errput), nil
}

// claims has the spawner leave the file with a run's output to deliver. It may
// be asked before there is a post.
func (l *loop) claims(job.RunID) bool { return l.options.host() }

// deliverAll mails what the runs that ended in a step have printed.
func (l *loop) deliverAll(records []job.Record, ended []spawn.Ended) {
	out := make(map[job.RunID]spawn.Ended, len(ended))
	for _, e := range ended {
		out[e.Run] = e
	}
	var lost []lostRun
	for i := range records {
		if r := records[i].Run; records[i].Kind == job.Ended && r != nil {
			if entry := l.deliver(r, out[r.ID]); entry != nil {
				lost = append(lost, lostRun{r, entry})
			}
			delete(out, r.ID)
		}
	}
	l.mailLost(lost)
	for _, e := range out {
		forgetOutput(e) // of a run that the engine does not know
	}
}

// deliver mails what a run printed, if the host's cron would. For a lost run without output it
// returns the entry if the loss must be mailed.
func (l *loop) deliver(r *job.Run, out spawn.Ended) (lost *crontab.Entry) {
	entry := l.entries[r.ID]
	delete(l.entries, r.ID)
	if entry != nil {
		l.unlockStamp(entry)
	} else {
		entry = entryOf(l.view.Load(), r.Job, r.User) // the run ended before this daemon began
	}
	if l.sessions != nil && !r.Started.IsZero() {
		l.sessions.End(spawn.SessionOf(r.ID), r.Reason.IsStop())
	}
	switch {
	case l.post == nil:
		forgetOutput(out)
		return nil
	case entry != nil && len(out.Output) == 0 && mailsLoss(r, entry):
		forgetOutput(out)
		return entry
	case entry == nil || len(out.Output) == 0 && !mailsSilence(entry):
		forgetOutput(out)
		return nil
	}
	if a, ok := l.accounts.Last(r.User); ok { // who sends it looks again
		l.mail(r, entry, a, out)
		return nil
	}
	l.chores.Go(func() {
		a, err := l.accounts.Find(context.Background(), r.User)
		if err != nil {
			l.log.Warn("what a run printed is not mailed", "job", r.Job, "run", r.ID, "error", err)
			forgetOutput(out)
			return
		}
		l.mail(r, entry, a, out)
	})
	return nil
}

// mailsSilence reports whether a run without output may need an email: looking up the user of each
// would cost too much on a busy host.
func mailsSilence(entry *crontab.Entry) bool {
	when := entry.Options().Mail
	return when == option.MailAlways || when == option.MailFailure
}

// mail passes a message to the queue, if one is due.
func (l *loop) mail(r *job.Run, entry *crontab.Entry, a account.Account, out spawn.Ended) {
	j := catalog.Describe(r.Job, entry)
	report := mail.Report{
		Job: &j, Run: r, Account: a, Path: l.options.jobPath(),
		MailOnFailure: entry.MailOnFailure(), When: entry.Options().Mail, To: entry.Options().MailTo,
	}
	if p := entry.Options().Period; p != nil && entry.File().Format == crontab.Anacron {
		report.Anacron = p.ID
	}
	text, size := mail.Output(out.Output)
	body := &body{text: text, out: out}
	if report.Output, report.Size = body, size; out.File != "" && wasCut(out.Output) {
		body.text = nil // the file has more
	}
	letter, lines := mail.Compose(l.mailConfig(), report)
	for _, line := range lines {
		l.logMail(line)
	}
	if letter == nil {
		body.Close()
		return
	}
	l.post.Give(letter)
}

func wasCut(chunks []job.Chunk) bool {
	for _, c := range chunks {
		if c.Cut > 0 {
			return true
		}
	}
	return false
}

// body is the output of a run as its mail has it: that of its file, where the
// run printed more than is kept in memory.
type body struct {
	text io.Reader // nil: the file is not read yet
	out  spawn.Ended
	once sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	if b.text == nil {
		chunks, _, err := spawn.ReadOutput(b.out.File) // Compose has a smaller limit, and reports what exceeds it
		if err != nil {
			return 0, err
		}
		b.text, _ = mail.Output(chunks)
	}
	return b.text.Read(p)
}

// Close releases the memory and space of the output, also if no message is written because no
// mailer or no space in the queue is available.
func (b *body) Close() error {
	b.once.Do(func() { forgetOutput(b.out) })
	return nil
}

// forgetOutput releases the output of a run that needs no mail any more.
func forgetOutput(out spawn.Ended) {
	recorder.Held{File: out.File, Memory: out.Memory, Space: out.Space}.Release()
}

// lostRun is a run that was lost and has no output to be mailed.
type lostRun struct {
	run   *job.Run
	entry *crontab.Entry
}

// mailsLoss reports whether the loss of a run is mailed. A job with channels for
// that does not need mail, too.
func mailsLoss(r *job.Run, entry *crontab.Entry) bool {
	o := entry.Options()
	notified := len(o.Notify) > 0 && o.NotifyOn&(option.NoticeLost|option.NoticeFail) != 0
	return r.Verdict == job.VerdictLost && o.Mail != option.MailNever && !notified
}

// mailLost sends one letter to each recipient of the mail of these runs: a crash of
// the host ends many runs at once.
func (l *loop) mailLost(lost []lostRun) {
	byUser := map[string][]lostRun{}
	for _, r := range lost {
		byUser[r.run.User] = append(byUser[r.run.User], r)
	}
	for user, runs := range byUser {
		l.chores.Go(func() {
			if err := l.mailLostOf(user, runs); err != nil {
				l.log.Warn("lost runs are not reported by mail", "user", user, "runs", len(runs), "error", err)
			}
		})
	}
}

func (l *loop) mailLostOf(user string, runs []lostRun) error {
	a, err := l.accounts.Find(context.Background(), user)
	if err != nil {
		return err
	}
	config := l.mailConfig()
	notices, byRecipient := map[string]mail.Notice{}, map[string][]lostRun{}
	for _, r := range runs {
		n := mail.Notice{Account: a, MailTo: r.entry.Options().MailTo, Env: r.entry.Env(), Unasked: true}
		if to := n.Recipient(config); to != "" {
			notices[to] = n
			byRecipient[to] = append(byRecipient[to], r)
		}
	}
	for _, to := range slices.Sorted(maps.Keys(notices)) {
		n := notices[to]
		n.Subject, n.Text = describeLost(byRecipient[to])
		letter, err := mail.ComposeNotice(config, n)
		if err != nil {
			return err
		}
		l.post.Give(letter)
	}
	return nil
}

// mostLost bounds the runs that a letter names.
const mostLost = 200

func describeLost(runs []lostRun) (subject, text string) {
	subject = fmt.Sprintf("%d runs were lost", len(runs))
	if len(runs) == 1 {
		subject = fmt.Sprintf("run %s of %s was lost", runs[0].run.ID, runs[0].run.Job)
	}
	var b strings.Builder
	b.WriteString("The daemon or the host stopped during these runs. How they ended is not known;\nthey count as failed.\n\n")
	for _, r := range runs[:min(len(runs), mostLost)] {
		due := r.run.Due.In(r.entry.Zone().Location()).Format("Mon 2 Jan 2006 15:04:05 MST")
		fmt.Fprintf(&b, "run %s of %s, due %s\n", r.run.ID, r.run.Job, due)
		if why := r.run.Outcome.Error; why != "" {
			fmt.Fprintf(&b, "    %s\n", why)
		}
	}
	if more := len(runs) - mostLost; more > 0 {
		fmt.Fprintf(&b, "and %d more: cronring history --failed\n", more)
	}
	b.WriteString("\nFor the reasons: cronring why RUN. For what a run printed: cronring logs RUN.\n")
	return subject, b.String()
}
