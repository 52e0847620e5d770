package mail

import (
	"cmp"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// Compose returns the message that the family's cron would send. It returns nil if none is due: the
// job printed nothing, MAILTO is empty, the entry requests mail only for failures, mail is off, or
// the address is not safe. The lines are for cron's log.
func Compose(c Config, r Report) (*Message, []Line) {
	if !r.due() || c.off() {
		return nil, nil
	}
	env := newVariables(c.Family, r)
	if c.Family == crontab.RHEL && r.Anacron != "" && env.Has("NO_MAIL_OUTPUT") {
		return nil, nil
	}
	a := addresses{config: c, user: r.Account.Name}
	to := a.recipient(env, r.To)
	if to == "" {
		return nil, a.lines
	}
	from := a.sender(env)
	l := &Message{User: r.Account.Name, Dir: cmp.Or(env.Value("HOME"), "/"), Output: r.Size}
	l.setBody(c.Family, r)
	l.Env = mailerEnv(c, r, env)
	if r.Anacron != "" {
		l.Dir = "/"
		l.Header = anacronHeader(c, r, from, to)
	} else {
		l.Header = cronHeader(c, r, env, from, to)
	}
	l.Argv = mailer(c, r, from, to)
	return l, a.lines
}

// off reports whether the host sends no mail at all.
func (c Config) off() bool { return c.Syslog || c.Command == "off" }

// due reports whether the entry requests mail about this run. For mail=failure, a failed attempt
// does not count if another follows. Otherwise each attempt counts as a run, because cron has no
// attempts.
func (r *Report) due() bool {
	switch r.When {
	case option.MailNever:
		return false
	case option.MailAlways:
		return true
	case option.MailFailure:
		return r.Run.Failed() && r.Run.Verdict != job.VerdictRetry
	}
	return r.Size > 0 && !(r.MailOnFailure && r.Run.OK())
}

// mailer is the family's command line. The addresses begin with a letter or a
// digit, so that none can be an option.
func mailer(c Config, r Report, from, to string) []string {
	sendmail := cmp.Or(c.Sendmail, Sendmail)
	switch {
	case c.Command != "" && r.Anacron == "":
		return strings.Fields(c.Command) // cronie also splits at spaces, without a shell
	case r.Anacron != "":
		return []string{sendmail, "-FAnacron", "-odi", to}
	case c.Family == crontab.RHEL:
		return []string{sendmail, "-FCronDaemon", "-i", "-odi", "-oem", "-oi", "-t", "-f", from}
	}
	return []string{sendmail, "-FCronDaemon", "-i", "-B8BITMIME", "-oem", to}
}

// mailerEnv returns the mailer's environment. In cronie it is the job's; in Debian's cron it is the
// daemon's, of which it passes on what programs expect: the user could read the rest in /proc.
func mailerEnv(c Config, r Report, env *job.Environment) []string {
	if c.Family == crontab.RHEL && r.Anacron == "" {
		return env.List
	}
	list := []string{"SHELL=/bin/sh", "HOME=" + cmp.Or(r.Account.Home, "/"), "LOGNAME=" + r.Account.Name, "USER=" + r.Account.Name}
	path := "/usr/sbin:/usr/bin:/sbin:/bin"
	if c.Getenv != nil {
		path = cmp.Or(c.Getenv("PATH"), path)
		for _, name := range []string{"LANG", "LC_ALL", "LC_CTYPE", "TZ"} {
			if value := c.Getenv(name); value != "" {
				list = append(list, name+"="+value)
			}
		}
	}
	return append(list, "PATH="+path)
}

// newVariables returns the environment that cron passes to a job, in the order of the family's X-Cron-Env
// headers: the variables of the crontab in order, then cron's own that the crontab does not set.
func newVariables(family crontab.Family, r Report) *job.Environment {
	v := &job.Environment{}
	v.Set(r.Job.Env...)
	if r.Anacron != "" {
		return v
	}
	if !v.Has("SHELL") {
		v.Set("SHELL=/bin/sh")
	}
	if !v.Has("HOME") {
		v.Set("HOME=" + r.Account.Home)
	}
	if r.Path != "" && !v.Has("PATH") {
		v.Set("PATH=" + r.Path)
	}
	v.Set("LOGNAME=" + r.Account.Name)
	if family == crontab.RHEL || v.Has("USER") { // jobs get no other
		v.Set("USER=" + r.Account.Name)
	}
	return v
}
