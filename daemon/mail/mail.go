// Package mail owns the text and the recipients of email that reports the output of jobs. Compose
// decides and writes, without side effects. Package sendmail stores and delivers.
//
// All parts of a message are untrusted. No byte of a command, an assignment or a host name can
// begin a header line, and no address can be interpreted as an option of the mailer. The mailer
// runs as the job's user, never as root for another user.
package mail

import (
	"io"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
)

// Sendmail is the path at which mail transfer agents install their program.
const Sendmail = "/usr/sbin/sendmail"

// MaxBody is the maximum output in a message, in bytes. The history has the rest.
const MaxBody = 10 << 20

// Config describes how this host's cron sends mail.
type Config struct {
	Family     crontab.Family
	Host       string              // the host's name according to the kernel
	FullHost   bool                // Debian's -n: the Subject has the full name, not its first part
	MarkFailed bool                // Debian's -L 4: the Subject of a failed run's mail ends with "(failed)"
	Charset    string              // codeset of the daemon's locale; "" is the codeset according to Getenv
	Sendmail   string              // "" is the constant
	Command    string              // cronie's -m: takes sendmail's place; "off" sends nothing
	Syslog     bool                // cronie's -s: output goes to the log, not into mail
	Getenv     func(string) string // the daemon's environment; nil is an empty one
}

// Report is a run that has ended, with what its mail is made of.
type Report struct {
	Job           *job.Job
	Run           *job.Run
	Account       account.Account // whose job it is
	Path          string          // PATH of jobs whose crontab sets none
	MailOnFailure bool            // the entry's -n
	When          option.MailWhen
	To            *string   // the entry's mailto=, in the place of MAILTO; nil: it has none
	Anacron       string    // the stamp's name of an anacrontab's entry; "" for all others
	Output        io.Reader // both streams as they came; see Output
	Size          int64     // bytes of Output
}

// Message is one email and how to hand it over.
type Message struct {
	User   string   // the account that the mailer runs as
	Dir    string   // its working directory
	Argv   []string // its program and arguments
	Env    []string // all of its environment
	Header []byte   // with the empty line
	Body   io.Reader
	Output int64 // bytes that the job printed

	dropCR bool   // carriage returns of Body are left out
	tail   string // follows Body
	cut    string // follows the first MaxBody bytes of a longer Body
}

// Line is one of cron's own log lines: (WHO) WORD (TEXT).
type Line struct{ Who, Word, Text string }
