package sendmail

import (
	"cmp"
	"time"

	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/outbox"
)

// missing is a mailer that does not exist.
type missing struct {
	program string // "" while the mailer is there
	since   time.Time
	lost    int // messages since
}

const mailerLog = "look at the mail transfer agent's own log"

// Problems returns the problems with mail, for the status.
func (q *Queue) Problems() (all []outbox.Problem) {
	add := func(user, what, why, fix string) {
		all = append(all, outbox.Problem{What: what, Why: why, Fix: fix, User: user})
	}
	q.mu.Lock()
	m := q.missing
	q.mu.Unlock()
	if m.program != "" && !mail.Installed(m.program) {
		add("", "mail cannot be sent since "+outbox.Stamp(m.since)+"; "+outbox.Count(m.lost, "mail", "was", "were")+" not sent, the output stays in the history",
			"there is no "+m.program,
			"install a mail transfer agent (postfix, exim4, msmtp-mta), or write MAILTO=\"\" into the crontabs")
	}
	waiting, why := 0, ""
	for _, l := range q.Lanes() {
		if !l.Began.IsZero() && time.Since(l.Began) >= slowTime {
			add(l.Name, outbox.Count(l.Waiting, "mail", "of "+l.Name+" waits", "of "+l.Name+" wait"), "a mailer was started at "+outbox.Stamp(l.Began)+" and still runs", mailerLog)
		}
		if l.Why != "" {
			waiting += l.Waiting
			why = cmp.Or(why, l.Why)
		}
	}
	if waiting > 0 {
		add("root", outbox.Count(waiting, "mail", "waits", "wait")+" to be sent", "the mailer said: "+why, mailerLog)
	}
	return append(all, q.Outbox.Problems()...)
}
