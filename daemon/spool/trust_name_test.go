package spool

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
)

// The rules as cron's sources and manuals write them.
var (
	debianNames   = regexp.MustCompile(`\A[A-Za-z0-9_-]+\z`)
	hierarchical  = regexp.MustCompile(`\A_?([a-z0-9_.]+-)+[a-z0-9]+\z`)
	leftBehind    = regexp.MustCompile(`dpkg-(old|dist)\z`)
	traditional   = regexp.MustCompile(`\A[a-z0-9][a-z0-9-]*\z`)
	cronieIgnored = regexp.MustCompile(`(?s)\A(\..*|#.*|.*~|.+\.rpm(save|orig|new)|\.cron\.hostname)\z`)
)

func nameTaken(k kind, family crontab.Family, lsb bool, name string) bool {
	switch {
	case family == crontab.RHEL:
		return !cronieIgnored.MatchString(name)
	case k == userCrontab:
		return !strings.HasPrefix(name, ".")
	case !lsb:
		return debianNames.MatchString(name)
	case strings.HasPrefix(name, "."):
		return false
	case hierarchical.MatchString(name):
		return !leftBehind.MatchString(name)
	}
	return traditional.MatchString(name)
}

func checkName(t *testing.T, name string) {
	t.Helper()
	if name == "" || strings.ContainsAny(name, "/\x00") {
		return // no file has such a name
	}
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		for _, k := range []kind{userCrontab, systemCrontab} {
			for _, lsb := range []bool{false, true} {
				why, want := ignore(k, family, lsb, name), nameTaken(k, family, lsb, name)
				if got := why == ""; got != want {
					t.Errorf("family %d, kind %d, lsb %t, %q: taken %t (%s), want %t", family, k, lsb, name, got, why, want)
				}
			}
		}
	}
}

var fileNames = []string{
	"cron", "e2scrub_all", "backup.sh", ".placeholder", ".", "..", "a b", "Ä", "a~", "~a", "#a#", "a#", "x.rpmsave", ".rpmsave",
	"x.rpmnew", "x.rpmorig", "rpmnew", "UPPER", "_x", "_x-y", "x-y", "x.org-y", "x.org-Y", "lanana-a.b", "foo-dpkg-old", "dpkg-old",
	"foo.dpkg-dist", "foo.dpkg-new", "-", "-a", "a-", "a--b", "_", "__-a", "_-a", ".cron.hostname", "cron.hostname", "a\nb", "\xff", "tmp.x",
}

func TestNamesAsTheCrontabHasThem(t *testing.T) {
	for _, name := range fileNames {
		checkName(t, name)
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range fileNames {
		f.Add(name)
	}
	f.Fuzz(checkName)
}

func TestNamesIgnoredSayWhy(t *testing.T) {
	for name, want := range map[string]string{
		"backup.sh": "ignored: a dot in the name; Debian's cron does the same",
		"a b":       "ignored: a blank in the name; Debian's cron does the same",
		"x~":        "ignored: a ~ in the name; Debian's cron does the same",
	} {
		if got := ignore(systemCrontab, crontab.Debian, false, name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got, want := ignore(userCrontab, crontab.RHEL, false, "x.rpmnew"), "ignored: rpm left it behind (.rpmnew); cronie does the same"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
