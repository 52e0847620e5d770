package mail

import (
	"cmp"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Compose writes the letter that the family's cron would send, or returns nil
// where none is due: nothing was printed, MAILTO is empty, the entry wants
// mail only of failures, mail is off, the address is not safe. The lines are
// for cron's log.
func Compose(c Config, r Report) (*Letter, []Line) {
	if !r.due() || c.off() {
		return nil, nil
	}
	env := newVariables(c.Family, r)
	if c.Family == crontab.RHEL && r.Anacron != "" && env.has("NO_MAIL_OUTPUT") {
		return nil, nil
	}
	a := addresses{config: c, user: r.Account.Name}
	to := a.recipient(env, r.To)
	if to == "" {
		return nil, a.lines
	}
	from := a.sender(env)
	l := &Letter{User: r.Account.Name, Dir: cmp.Or(env.value("HOME"), "/"), Body: body(c.Family, r), Output: r.Size}
	l.Env = mailerEnv(c, r, env)
	switch {
	case r.Anacron != "":
		l.Dir = "/"
		l.Header = anacronHeader(c, r, from, to)
	case c.Family == crontab.RHEL:
		l.Header = cronieHeader(c, r, env, from, to)
	default:
		l.Header = debianHeader(c, r, env, from, to)
	}
	l.Argv = mailer(c, r, from, to)
	return l, a.lines
}

// off tells whether the host sends no mail at all.
func (c Config) off() bool { return c.Syslog || c.Command == "off" }

// due tells whether the entry asks for a letter about this run. An attempt that
// another one follows is no failure yet to mail=failure, and each is a run of
// its own to all else, as a cron knows nothing of attempts.
func (r *Report) due() bool {
	switch r.When {
	case crontab.MailNever:
		return false
	case crontab.MailAlways:
		return true
	case crontab.MailFailure:
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
		return strings.Fields(c.Command) // cronie splits at blanks, too, and asks no shell
	case r.Anacron != "":
		return []string{sendmail, "-FAnacron", "-odi", to}
	case c.Family == crontab.RHEL:
		return []string{sendmail, "-FCronDaemon", "-i", "-odi", "-oem", "-oi", "-t", "-f", from}
	}
	return []string{sendmail, "-FCronDaemon", "-i", "-B8BITMIME", "-oem", to}
}

// mailerEnv is cronie's job environment. Debian's cron gives the mailer its
// own; we give of that what programs expect, as the account could read the
// rest in /proc and it is not for its eyes.
func mailerEnv(c Config, r Report, env *variables) []string {
	if c.Family == crontab.RHEL && r.Anacron == "" {
		return env.list
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

// variables is the environment that cron gives a job, as the family's
// X-Cron-Env headers list it: what the session adds (cronie), the table's in
// order, then cron's own that the table does not set.
type variables struct {
	list  []string
	index map[string]int
}

func newVariables(family crontab.Family, r Report) *variables {
	v := &variables{index: map[string]int{}}
	if family == crontab.RHEL {
		for _, entry := range r.Session {
			v.set(entry)
		}
	}
	for _, entry := range r.Job.Env {
		v.set(entry)
	}
	if r.Anacron != "" {
		return v
	}
	v.add("SHELL=/bin/sh")
	v.add("HOME=" + r.Account.Home)
	if r.Path != "" {
		v.add("PATH=" + r.Path)
	}
	v.set("LOGNAME=" + r.Account.Name)
	if family == crontab.RHEL || v.has("USER") { // jobs get no other
		v.set("USER=" + r.Account.Name)
	}
	return v
}

func (v *variables) set(entry string) {
	name, _, _ := strings.Cut(entry, "=")
	if i, ok := v.index[name]; ok {
		v.list[i] = entry
		return
	}
	v.index[name] = len(v.list)
	v.list = append(v.list, entry)
}

// add sets what is not set yet.
func (v *variables) add(entry string) {
	if name, _, _ := strings.Cut(entry, "="); !v.has(name) {
		v.set(entry)
	}
}

func (v *variables) has(name string) bool { _, ok := v.index[name]; return ok }

func (v *variables) value(name string) string {
	i, ok := v.index[name]
	if !ok {
		return ""
	}
	return v.list[i][len(name)+1:]
}
