package mail

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
)

// Notice is a message to users that is not the output of a job.
type Notice struct {
	Account account.Account // user of the mailer
	To      []string        // addresses; none: the job's
	MailTo  *string         // the job's mailto=; nil: it has none
	Unasked bool            // no option requested it: an empty MAILTO suppresses it
	Env     []string        // the assignments of its crontab, for MAILTO and MAILFROM
	Subject string          // what follows the names of account and host
	Text    string
}

// Recipient returns the addresses that receive a notice, separated by commas; "" means none. If a
// job requests the notice and has no recipient for its output, its user gets the notice.
func (n *Notice) Recipient(c Config) string {
	switch {
	case len(n.To) > 0:
		return strings.Join(n.To, ",")
	case n.Unasked && c.off():
		return ""
	}
	a := addresses{config: c, user: n.Account.Name}
	to := a.recipient(n.variables(c), n.MailTo)
	if to == "" && !n.Unasked {
		return n.Account.Name
	}
	return to
}

func (n *Notice) variables(c Config) *job.Environment {
	return newVariables(c.Family, Report{Job: &job.Job{Env: n.Env}, Account: n.Account})
}

// ComposeNotice returns the message, or an error if there is none.
func ComposeNotice(c Config, n Notice) (*Message, error) {
	if c.off() {
		return nil, errOff
	}
	a := addresses{config: c, user: n.Account.Name}
	from, to := a.sender(n.variables(c)), n.Recipient(c)
	if !plain(to, c.Family) {
		return nil, errUnsafe
	}
	return &Message{
		User: n.Account.Name, Dir: "/", Argv: mailer(c, Report{}, from, to), Env: noticeEnv(c, n.Account),
		Header: noticeHeader(c, n, from, to), Body: strings.NewReader(n.Text), Output: int64(len(n.Text)),
	}, nil
}

// noticeEnv is the mailer's environment of Debian's family: what the job's crontab
// sets is none of a notice's business.
func noticeEnv(c Config, a account.Account) []string {
	c.Family = crontab.Debian
	return mailerEnv(c, Report{Account: a}, nil)
}

func noticeHeader(c Config, n Notice, from, to string) []byte {
	var h header
	h.line("From", cmp.Or(from, "root")+" (Cron Daemon)", "")
	h.to(to)
	h.line("Subject", fmt.Sprintf("Cron <%s@%s> %s", n.Account.Name, hostIn(c), n.Subject), "")
	h.WriteString("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\nPrecedence: bulk\n")
	return h.end()
}

var (
	errOff    = errors.New("this host sends no mail")
	errUnsafe = errors.New("the address is not safe")
)
