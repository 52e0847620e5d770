package spool

import (
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
		Group:      "crontab",
		Header:     true,
	}
	if h.Family == crontab.RHEL {
		p.Users, p.Group, p.Header = "/var/spool/cron", "", false
	}
	for _, path := range []*string{&p.Crontab, &p.CronD, &p.Users, &p.Anacrontab, &p.Stamps, &p.Allow, &p.Deny} {
		*path = filepath.Join(root, *path)
	}
	return p
}
