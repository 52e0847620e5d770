package spool

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
)

// Host is what the meaning of a crontab depends on beside its text.
type Host struct {
	Family  crontab.Family
	Zone    *time.Location // under its IANA name where that can be found
	Account string         // who a user's crontab is read for
	Root    bool           // that account is root
}

// ThisHost looks at the machine and at the process's own account.
func ThisHost() Host {
	return Host{Family: family(), Zone: zone(), Account: account(), Root: os.Geteuid() == 0}
}

// Config is how to parse the crontab at path. system says that it has a
// column for the account, which /etc/crontab and /etc/cron.d/* always do.
func (h Host) Config(path string, system bool) crontab.Config {
	c := crontab.Config{
		Format: crontab.User, Family: h.Family, Owner: h.Account, Privileged: h.Root,
		Local: h.Zone, Zone: LoadZone,
	}
	if system || SystemTable(path) {
		c.Format, c.Privileged = crontab.System, true
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

// SystemTable reports whether cron itself would read the file with a column for
// the account.
func SystemTable(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && path != "-" && (abs == "/etc/crontab" || filepath.Dir(abs) == "/etc/cron.d")
}

// family tells which cron's defaults hold here.
func family() crontab.Family {
	if _, err := os.Stat("/etc/redhat-release"); err == nil {
		return crontab.RHEL
	}
	return crontab.Debian
}

// zone is the host's zone under its real name. Go calls it "Local", which
// tells a reader nothing; that name stays only when the real one is not known.
func zone() *time.Location {
	name, set := os.LookupEnv("TZ")
	if set && name == "" {
		return time.UTC
	}
	if !set {
		target, err := os.Readlink("/etc/localtime")
		if err != nil {
			return time.Local
		}
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	if loc, err := LoadZone(strings.TrimPrefix(name, ":")); err == nil {
		return loc
	}
	return time.Local
}

// account is the name of the account that this process runs as, or its number
// where the system knows no name, as in many containers.
func account() string {
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
