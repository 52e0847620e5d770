package daemon

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/mail"
)

// Options say how a daemon runs.
type Options struct {
	Files   []string       // crontab files; none: the host's crontabs, as cron reads them
	System  bool           // all of Files have a user column
	Family  crontab.Family // the cron that the daemon replaces
	State   string         // directory of the history; made if it is missing
	Runtime string         // directory of what outlives the daemon but not the boot; "": State, if it can be written
	Socket  string         // control socket; "" is cronring.sock in State
	Grace   time.Duration  // how long running jobs may continue after the signal to stop
	Log     string         // "", auto, text, json, journal, syslog: where to write; "" leaves it to Config
	Stdout  io.Writer      // what jobs do and print, when it is written there
	Stderr  io.Writer      // what the daemon has to say of itself then
	Version string

	ConfigDir string // directory that Config was read from; "": it is never read again
	Config    config.Config
	Cron      Cron
	Root      string // put before each path of the host's own: "" but in tests

	relieves bool          // another cron had the host until now
	preserve time.Duration // how often output is copied to the disk; 0 is preserve.Interval

	// Signals are requests of an administrator: SIGHUP reads the crontabs again, SIGUSR2 executes
	// the program again in place; any other stops in good order, and a second one stops without
	// waiting for running jobs.
	Signals <-chan os.Signal
	// HungUp reports whether the terminal that the daemon was started from is closed. SIGHUP is
	// then a request to stop. nil: there was no terminal.
	HungUp func() bool
}

// Cron holds the options of cron and cronie. Their letters are in cronringd(8).
type Cron struct {
	LSBNames    bool   // names in cron.d as run-parts --lsbsysinit takes them
	LogLevel    int    // bits: 1 start, 2 end, 4 failures, 8 process numbers
	FullHost    bool   // the host's full name in the subject of mails
	Mailer      string // command that gets mails instead of sendmail; "off": none
	ToSyslog    bool   // output goes to the log instead of mail
	InheritPath bool   // jobs start with the daemon's own PATH
	NoWatch     bool   // crontabs are checked once a minute
	Permissive  bool   // crontabs are read whoever owns them; the configuration must allow it too
	Cluster     bool   // cronie's cluster, which is refused
}

// host reports whether the daemon replaces the host's cron.
func (o *Options) host() bool { return len(o.Files) == 0 }

// path is a path of the host.
func (o *Options) path(name string) string { return filepath.Join(o.Root, name) }

// jobPath is the PATH of jobs whose crontab sets none: the family's default, or the daemon's own
// with cronie's -P.
func (o *Options) jobPath() string {
	switch {
	case o.Cron.InheritPath:
		return os.Getenv("PATH")
	case o.Family == crontab.RHEL:
		return "/usr/bin:/bin:/usr/sbin:/sbin"
	}
	return "/usr/bin:/bin"
}

// jobSocket returns the control socket for the environment of jobs, or "" if it is where clients
// look anyway.
func (o *Options) jobSocket() string {
	if o.Socket == api.SystemSocket {
		return ""
	}
	path, err := filepath.Abs(o.Socket)
	if err != nil { // the working directory does not exist
		return ""
	}
	return path
}

// locale is all that jobs get of the daemon's own environment: the names of
// the locale, as from cronie. Debian has a file for them.
func (o *Options) locale() (vars []string) {
	if o.Family != crontab.RHEL {
		return nil
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_") {
			vars = append(vars, v)
		}
	}
	return vars
}

// logOptions returns the destination and form of the log.
func (o *Options) logOptions(mailReady func() bool, zone func() *time.Location) journal.Options {
	lines, member := o.Config.Log.CronLines, ""
	if o.Config.Ring.Name != "" {
		member = o.Config.Ring.Node()
	}
	return journal.Options{
		Mode: journal.Mode(cmp.Or(o.Log, o.Config.Log.To)), Host: o.host(),
		Words:   o.words(),
		Node:    member,
		NoCron:  lines != nil && !*lines,
		CMDOUT:  func() bool { return !mailReady() },
		Journal: o.path(journal.JournalSocket), Syslog: o.path(journal.SyslogSocket),
		Stdout: o.Stdout, Stderr: o.Stderr, Getenv: os.Getenv, Zone: zone,
	}
}

// words returns the messages of the host's own cron.
func (o *Options) words() journal.Words {
	w := journal.Words{Family: o.Family, Level: journal.Level(o.Cron.LogLevel)}
	if w.Level == 0 {
		w.Level = journal.Silent
	}
	return w
}

// mailConfig returns how this host's cron sends mail.
func (o *Options) mailConfig() mail.Config {
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
func (o *Options) mailTakes() bool {
	c := o.mailConfig()
	return !c.Syslog && (c.Command == "off" || c.Ready())
}
