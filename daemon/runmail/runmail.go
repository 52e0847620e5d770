// Package runmail owns the email that the daemon sends about runs, such as what they printed and which
// of them were lost, and notifications of channels that are email.
package runmail

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/mail/sendmail"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/spawn"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// Options describe the host's mail.
type Options struct {
	Dir      string             // of messages that wait
	Config   func() mail.Config // how this host's cron sends mail
	JobPath  string             // PATH of jobs whose crontab sets none
	Accounts *account.Directory
	Exec     func(ctx context.Context, t spawn.Tool) (spawn.Result, error)
	Away     func() bool // running jobs are about to be left
	Log      *slog.Logger
	CronLog  func(mail.Line) // writes a line into cron's log
}

// Mailer sends the email of runs. Close waits for its goroutines.
type Mailer struct {
	Options
	*sendmail.Queue
	lookups sync.WaitGroup
}

// Open opens the queue of letters.
func Open(o Options) *Mailer {
	m := &Mailer{Options: o}
	m.Queue = sendmail.Open(sendmail.Options{Dir: o.Dir, Family: o.Config().Family, Send: m.send, Log: o.Log, CronLog: o.CronLog})
	return m
}

// Close waits for the look-up of users, whose letters are given to the queue.
func (m *Mailer) Close() { m.lookups.Wait() }

// send runs a mailer as the job's user. A mailer that is running when the daemon leaves is waited
// for; further ones are left to the next daemon.
func (m *Mailer) send(ctx context.Context, d sendmail.Delivery) (status int, output string, err error) {
	if m.Away() {
		return 0, "", sendmail.ErrNotNow
	}
	a, err := m.Accounts.Find(ctx, d.User)
	if err != nil {
		return 0, "", err
	}
	tool := spawn.Tool{Argv: d.Argv, Env: d.Env, Dir: d.Dir, As: &a, Stdin: d.Message, MaxOutput: 4 << 10}
	r, err := m.Exec(ctx, tool)
	if err != nil && ctx.Err() == nil && tool.Dir != "/" { // a home that cannot be entered keeps no job from running, either
		tool.Dir = "/"
		r, err = m.Exec(ctx, tool)
	}
	if err != nil {
		return 0, "", err
	}
	return r.Outcome.Code<<8 | r.Outcome.Signal, string(r.Output) + string(r.Errput), nil
}

// Deliver mails what a run printed, if the host's cron would, and releases the output. It returns
// whether the loss of a run without output must be mailed: see Lost.
func (m *Mailer) Deliver(r *job.Run, entry *crontab.Entry, out spawn.Ended) (lost bool) {
	switch {
	case entry != nil && len(out.Output) == 0 && mailsLoss(r, entry):
		Forget(out)
		return true
	case entry == nil || len(out.Output) == 0 && !mailsSilence(entry):
		Forget(out)
		return false
	}
	if a, ok := m.Accounts.Last(r.User); ok { // who sends it looks again
		m.mail(r, entry, a, out)
		return false
	}
	m.lookups.Go(func() {
		a, err := m.Accounts.Find(context.Background(), r.User)
		if err != nil {
			m.Log.Warn("what a run printed is not mailed", "job", r.Job, "run", r.ID, "error", err)
			Forget(out)
			return
		}
		m.mail(r, entry, a, out)
	})
	return false
}

// mailsSilence reports whether a run without output may need an email: looking up the user of each
// would cost too much on a busy host.
func mailsSilence(entry *crontab.Entry) bool {
	when := entry.Options().Mail
	return when == option.MailAlways || when == option.MailFailure
}

// mail passes a message to the queue, if one is due.
func (m *Mailer) mail(r *job.Run, entry *crontab.Entry, a account.Account, out spawn.Ended) {
	j := catalog.Describe(r.Job, entry)
	report := mail.Report{
		Job: &j, Run: r, Account: a, Path: m.JobPath,
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
	letter, lines := mail.Compose(m.Config(), report)
	for _, line := range lines {
		m.CronLog(line)
	}
	if letter == nil {
		body.Close()
		return
	}
	m.Enqueue(letter)
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
		chunks, _, err := runoutput.Read(b.out.File) // Compose has a smaller limit, and reports what exceeds it
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
	b.once.Do(func() { Forget(b.out) })
	return nil
}

// Forget releases the output of a run that needs no mail any more.
func Forget(out spawn.Ended) {
	recorder.Held{File: out.File, Memory: out.Memory, Space: out.Space}.Release()
}

// Notice queues an email of a notification. A channel with addresses uses the administrator's
// settings, the built-in one those of the job's entry, which may be nil.
func (m *Mailer) Notice(ctx context.Context, c *notify.Channel, message *notify.Message, entry *crontab.Entry) error {
	n := mail.Notice{To: c.To}
	user := cmp.Or(c.User, notify.Nobody)
	if len(c.To) == 0 {
		user = message.User
		if entry != nil {
			n.MailTo, n.Env = entry.Options().MailTo, entry.Env()
		}
	}
	var err error
	if n.Account, err = m.Accounts.Find(ctx, user); err != nil {
		return err
	}
	n.Subject, n.Text = message.Email()
	letter, err := mail.ComposeNotice(m.Config(), n)
	if err != nil {
		return &notify.FinalError{Why: err.Error()}
	}
	m.Enqueue(letter)
	return nil
}
