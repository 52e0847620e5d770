package spool

import (
	"os"
	"path/filepath"

	"github.com/cronring/cronring/crontab"
)

// Paths are the paths of the crontabs of a host, and of the files that its cron's crontab(1)
// creates.
type Paths struct {
	Crontab    string // the system's crontab
	CronD      string // the directory of packages' crontabs
	Users      string // the spool: the directory of users' crontabs, each named after its user
	Anacrontab string
	Stamps     string // anacron's timestamps
	Allow      string // cron.allow
	Deny       string // cron.deny
	Anacron    string // the program: while it is installed, the anacrontab is its business
	Passwd     string
	Localtime  string // the host's time zone
	Timezone   string // its name, if Localtime is not a link
	Group      string // group of the users' crontabs: "crontab" on Debian, "" for the user's own
	Header     bool   // crontab(1) adds three lines of comment at the top
}

// Paths are those of the host's family. root is put before each path: "" for
// the machine itself, a directory in tests.
func (h Host) Paths(root string) Paths {
	p := Paths{
		Crontab:    "/etc/crontab",
		CronD:      "/etc/cron.d",
		Users:      "/var/spool/cron/crontabs",
		Anacrontab: "/etc/anacrontab",
		Stamps:     "/var/spool/anacron",
		Allow:      "/etc/cron.allow",
		Deny:       "/etc/cron.deny",
		Anacron:    "/usr/sbin/anacron",
		Passwd:     "/etc/passwd",
		Localtime:  "/etc/localtime",
		Timezone:   "/etc/timezone",
		Group:      "crontab",
		Header:     true,
	}
	if h.Family == crontab.RHEL {
		p.Users, p.Group, p.Header = "/var/spool/cron", "", false
	}
	for _, path := range []*string{&p.Crontab, &p.CronD, &p.Users, &p.Anacrontab, &p.Stamps, &p.Allow, &p.Deny, &p.Anacron, &p.Passwd, &p.Localtime, &p.Timezone} {
		*path = filepath.Join(root, *path)
	}
	return p
}

// kindOf returns what kind of crontab a path is, and the relevant name: that of the user, or of the
// file in cron.d.
func (p Paths) kindOf(path string) (kind, string) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "-" {
		return namedCrontab, ""
	}
	dir, name := filepath.Split(abs)
	switch dir = filepath.Clean(dir); {
	case abs == p.Crontab:
		return systemCrontab, ""
	case abs == p.Anacrontab:
		return anacrontab, name
	case dir == p.CronD:
		return systemCrontab, name
	case dir == p.Users:
		return userCrontab, name
	}
	return namedCrontab, ""
}

// AnacronInstalled reports whether anacron is installed to do its own work.
func (p Paths) AnacronInstalled() bool {
	info, err := os.Stat(p.Anacron)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
