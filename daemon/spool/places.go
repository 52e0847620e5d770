package spool

import (
	"os"
	"path/filepath"

	"github.com/cronring/cronring/crontab"
)

// Places says where the crontabs of a host stand, and what its cron's
// crontab(1) leaves there.
type Places struct {
	Crontab    string // the system's table
	CronD      string // the directory of packages' tables
	Users      string // the spool: the directory of users' tables, each named after its account
	Anacrontab string
	Stamps     string // anacron's timestamps
	Allow      string // cron.allow
	Deny       string // cron.deny
	Anacron    string // the program: while it is installed, the anacrontab is its business
	Passwd     string
	Localtime  string // the host's time zone
	Timezone   string // its name, where Localtime is no link
	Group      string // group of the users' tables: "crontab" on Debian, "" for the user's own
	Header     bool   // three lines of comment stand above what crontab(1) installed
}

// Places are those of the host's family. root is put before each path: "" for
// the machine itself, a directory in tests.
func (h Host) Places(root string) Places {
	p := Places{
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

// kindOf tells what cron takes the file at path for, by its place, and the
// name of it that matters: that of the account, or of the file in cron.d.
func (p Places) kindOf(path string) (kind, string) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "-" {
		return namedTable, ""
	}
	dir, name := filepath.Split(abs)
	switch dir = filepath.Clean(dir); {
	case abs == p.Crontab:
		return systemTable, ""
	case abs == p.Anacrontab:
		return anacronTable, name
	case dir == p.CronD:
		return systemTable, name
	case dir == p.Users:
		return userTable, name
	}
	return namedTable, ""
}

// AnacronInstalled tells whether anacron is there to do its own work.
func (p Places) AnacronInstalled() bool {
	info, err := os.Stat(p.Anacron)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
