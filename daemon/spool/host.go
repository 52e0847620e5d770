package spool

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
)

// Host holds what the meaning of a crontab depends on, apart from its text.
type Host struct {
	Family  crontab.Family
	Zone    *time.Location // under its IANA name if that can be found
	Account string         // the user for whom a user's crontab is read
	Root    bool           // that account is root

	Processors int // 0: unknown

	Calendars map[string]timetable.Calendar // of the configuration; see crontab.Config
}

// ThisHost looks at the machine and at the process's own account.
func ThisHost() Host {
	return Host{Family: family(), Zone: zone(), Account: ownAccount(), Root: os.Geteuid() == 0, Processors: runtime.NumCPU()}
}

// Config returns how to parse the crontab at path. system means that it has a user column, which
// /etc/crontab and /etc/cron.d/* always have; a file in the spool belongs to its user, and
// /etc/anacrontab has anacron's form.
func (h Host) Config(path string, system bool) crontab.Config {
	return h.configAt(h.Paths(""), path, system)
}

// Named is Config for a file that was named on the command line of a daemon. It
// counts as root's wherever it is, so the names of its jobs are plain.
func (h Host) Named(path string, system bool) crontab.Config {
	c := h.Config(path, system)
	c.Owner, c.User = "", cmp.Or(c.User, c.Owner)
	return c
}

func (h Host) configAt(p Paths, path string, system bool) crontab.Config {
	c := crontab.Config{
		Format: crontab.User, Family: h.Family, User: h.Account, Privileged: h.Root,
		Local: h.Zone, Zone: LoadZone, Processors: h.Processors, Calendars: h.Calendars,
	}
	switch k, name := p.kindOf(path); {
	case system, k == systemCrontab:
		c.Format, c.Privileged = crontab.System, true
	case k == anacrontab:
		c.Format, c.Privileged = crontab.Anacron, true
	case k == userCrontab:
		c.Owner, c.User, c.Privileged = name, "", name == "root"
	}
	return c
}

// LoadZone looks a zone up by its IANA name. Go's two special names are none:
// "" would be UTC and "Local" the host's.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return time.LoadLocation(name)
}

// SystemCrontab reports whether cron itself would read the file with a column for
// the account.
func SystemCrontab(path string) bool {
	k, _ := Host{}.Paths("").kindOf(path)
	return k == systemCrontab
}

// family returns the cron whose defaults apply here.
func family() crontab.Family {
	if _, err := os.Stat("/etc/redhat-release"); err == nil {
		return crontab.RHEL
	}
	return crontab.Debian
}

// zone is the host's zone as it is now.
func zone() *time.Location {
	p := Host{}.Paths("")
	z := hostZone{localtime: p.Localtime, timezone: p.Timezone}
	z.refresh(time.Now())
	return z.location
}

// ownAccount returns the name of the user of this process, or its number if the system has no name,
// as in many containers.
func ownAccount() string {
	uid := uint32(os.Geteuid())
	if name, err := AccountName(uid); err == nil {
		return name
	}
	return formatUID(uid)
}

// AccountName is the name of an account.
func AccountName(uid uint32) (string, error) {
	u, err := user.LookupId(formatUID(uid))
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func formatUID(uid uint32) string { return strconv.FormatUint(uint64(uid), 10) }
