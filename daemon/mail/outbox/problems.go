package outbox

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/mail"
)

// Problem is one standing trouble: what, why, and what to do about it.
type Problem struct{ What, Why, Fix string }

// state is what Problems reports.
type state struct {
	missing  missing
	disk     trouble
	saidFull time.Time
	refused  int // messages rejected by a limit
	lost     int // messages that neither disk nor memory could store
	dead     int // undeliverable messages, which are kept
}

type missing struct {
	program string // "" while the mailer is there
	since   time.Time
	lost    int // letters since
}

type trouble struct {
	err   error
	since time.Time
}

func (t *trouble) note(err error) {
	if err == nil || t.err == nil {
		t.since = time.Now()
	}
	t.err = err
}

const mailerLog = "look at the mail transfer agent's own log"

// Problems returns the problems with mail, for the status.
func (p *Outbox) Problems() []Problem {
	p.mu.Lock()
	s, slow := p.state, p.lanes.slow()
	waiting, why := p.lanes.failing()
	p.mu.Unlock()
	var all []Problem
	add := func(what, why, fix string) { all = append(all, Problem{what, why, fix}) }
	if m := s.missing; m.program != "" && !mail.Installed(m.program) {
		add(fmt.Sprintf("mail cannot be sent since %s; %s", stamp(m.since), letters(m.lost, "was", "were")+" not sent, the output stays in the history"),
			"there is no "+m.program,
			"install a mail transfer agent (postfix, exim4, msmtp-mta), or write MAILTO=\"\" into the crontabs")
	}
	for _, m := range slow {
		add(letters(m.letters, "of "+m.user+" waits", "of "+m.user+" wait"), "a mailer was started at "+stamp(m.since)+" and still runs", mailerLog)
	}
	if waiting > 0 {
		add(letters(waiting, "waits", "wait")+" to be sent", "the mailer said: "+why, mailerLog)
	}
	if s.dead > 0 {
		add(letters(s.dead, "was", "were")+" given up", "the mailer refused, or failed for four days",
			"look at "+p.dir.DeadPattern()+", and remove them when they are dealt with")
	}
	if s.disk.err != nil {
		add("mail is not kept on disk since "+stamp(s.disk.since)+"; it is sent at once or lost", s.disk.err.Error(), "make room on the disk of "+p.options.Dir)
	}
	if s.refused+s.lost > 0 {
		add(letters(s.refused+s.lost, "was", "were")+" lost since the daemon started; the output stays in the history",
			fmt.Sprintf("%d for lack of room in the queue, %d for lack of disk", s.refused, s.lost), "find out why jobs print this much, or why mail is not delivered")
	}
	return all
}

func letters(n int, one, many string) string {
	if n == 1 {
		return "1 mail " + one
	}
	return fmt.Sprintf("%d mails %s", n, many)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
