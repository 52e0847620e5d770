package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/queue"
)

// deliverAll hands letters over until ctx ends, beside other goroutines that do
// the same.
func (p *Outbox) deliverAll(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		it, at := p.lanes.pick(time.Now())
		p.mu.Unlock()
		if it == nil {
			p.rest(ctx, at)
			continue
		}
		signal(p.wake) // there may be letters of other accounts
		p.deliver(ctx, it)
		p.mu.Lock()
		p.lanes.release(it)
		p.mu.Unlock()
	}
}

// rest waits for a new letter, for the time, or for the end.
func (p *Outbox) rest(ctx context.Context, until time.Time) {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-p.wake:
	case <-due:
	case <-ctx.Done():
	}
}

func (p *Outbox) deliver(ctx context.Context, it *item) {
	e, message, err := open(p.dir, it)
	var damaged *queue.DamagedError
	switch {
	case errors.As(err, &damaged), errors.Is(err, fs.ErrNotExist):
		p.options.Log.Error("a letter of the mail queue is damaged", "letter", queue.Name(it.number), "error", err)
		p.giveUp(it)
		return
	case err != nil:
		p.later(it, err.Error(), false)
		return
	}
	defer message.Close()
	if !p.available(e.Argv) {
		p.later(it, e.Argv[0]+" is not there", false)
		return
	}
	status, output, err := p.send(ctx, Delivery{User: e.User, Argv: e.Argv, Env: e.Env, Dir: e.Dir, Message: message})
	switch {
	case err == nil && status == 0:
		p.done(it)
	case ctx.Err() != nil && err != nil:
		return // the daemon stops; the letter stays as it is
	default:
		p.failed(it, status, output, err)
	}
}

// send lets the mailer run for sendTime, and for at most stopTime after the daemon begins to stop.
func (p *Outbox) send(ctx context.Context, d Delivery) (int, string, error) {
	timed, cancel := queue.Patient(ctx, sendTime, stopTime)
	defer cancel()
	begun := time.Now()
	report := time.AfterFunc(slowTime, func() { p.reportSlow(d, begun) })
	defer report.Stop()
	status, output, err := p.options.Send(timed, d)
	if err == nil {
		return status, output, nil
	}
	if timed.Err() != nil {
		err = fmt.Errorf("the mailer did not end: %w", errHung)
	}
	return status, output, err
}

// reportSlow notes a mailer that still runs, for Problems and the log.
func (p *Outbox) reportSlow(d Delivery, begun time.Time) {
	p.mu.Lock()
	if l := p.lanes.of[d.User]; l != nil && l.busy {
		l.slow = begun
	}
	p.mu.Unlock()
	p.options.Log.Warn("a mailer does not end; mail of its user waits", "user", d.User, "program", d.Argv[0], "for", slowTime.String())
}

var errHung = errors.New("out of time")

func (p *Outbox) done(it *item) {
	if err := remove(p.dir, it); err != nil {
		p.options.Log.Error("mail was sent and cannot be taken out of the queue: it will be sent again", "letter", queue.Name(it.number), "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	it.lane.why = ""
	p.lanes.remove(it)
}

// failed deals with a mailer that did not take a letter.
func (p *Outbox) failed(it *item, status int, output string, err error) {
	if errors.Is(err, errHung) {
		p.mu.Lock()
		it.lane.until = time.Now().Add(wait(it.tries))
		p.mu.Unlock()
	}
	why := mail.Excerpt(output)
	if why == "" {
		why = fmt.Sprintf("it ended with status 0x%04x", status)
	}
	if err != nil {
		why = err.Error()
	}
	if it.tries == 0 && err == nil {
		p.sayFailed(it, status)
	}
	if err == nil && permanent(status) || p.tooOld(it) {
		p.options.Log.Error("mail could not be delivered", "user", it.user, "letter", queue.Name(it.number), "error", why)
		p.giveUp(it)
		return
	}
	p.later(it, why, true)
}

func (p *Outbox) sayFailed(it *item, status int) {
	plural := "s"
	if it.output == 1 {
		plural = ""
	}
	p.options.Say(mail.Line{Who: it.user, Word: "MAIL", Text: fmt.Sprintf("mailed %d byte%s of output but got status 0x%04x from MTA", it.output, plural, status)})
}

// permanent reports whether the exit code means that another try would also fail (sysexits.h):
// usage, data, unknown recipient, unknown host. Each further try would make the agent send its
// refusal again.
func permanent(status int) bool {
	switch ws := syscall.WaitStatus(status); {
	case !ws.Exited():
		return false
	default:
		return ws.ExitStatus() == 64 || ws.ExitStatus() == 65 || ws.ExitStatus() == 67 || ws.ExitStatus() == 68
	}
}

// tooOld also requires some tries, because the clock may have been set forward by years since the
// message was created.
func (p *Outbox) tooOld(it *item) bool {
	return it.tries >= fewestTries && time.Since(it.born) > lifetime
}

func wait(tries int) time.Duration { return min(firstWait<<min(tries, 10), longestWait) }

func (p *Outbox) later(it *item, why string, tried bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	it.next = time.Now().Add(wait(it.tries))
	it.tries++
	if tried {
		it.lane.why = why
	}
}

// giveUp moves a message to the undeliverable ones. A message that is only in memory is lost.
func (p *Outbox) giveUp(it *item) {
	if it.direct == nil {
		p.dir.Bury(it.number, it.user)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lanes.remove(it)
	if it.direct == nil {
		p.state.dead = min(p.state.dead+1, queue.MaxDead)
	} else {
		p.state.lost++
	}
}

// available checks each time whether the mailer exists, because it may be installed at any moment.
// A change is logged once, in the family's words.
func (p *Outbox) available(argv []string) bool {
	there := len(argv) > 0 && mail.Installed(argv[0])
	p.mu.Lock()
	was := p.state.missing.program
	switch {
	case there:
		p.state.missing = missing{}
	case was == "":
		p.state.missing = missing{program: strings.Join(argv[:min(1, len(argv))], ""), since: time.Now()}
	}
	p.mu.Unlock()
	switch {
	case there && was != "":
		p.options.Log.Info("mail can be sent again", "program", argv[0])
	case !there && was == "" && p.options.Family == crontab.RHEL:
		p.options.Say(mail.Line{Who: "CRON", Word: "INFO", Text: "Syslog will be used instead of sendmail."})
	case !there && was == "":
		p.options.Say(mail.Line{Who: "CRON", Word: "info", Text: "No MTA installed, discarding output"})
	}
	return there
}
