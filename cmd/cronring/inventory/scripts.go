package inventory

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
)

// SilentScript is a file that run-parts leaves out without a word.
type SilentScript struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// SilentScripts returns the files that run-parts ignores in the directories that it runs.
func (m *Machine) SilentScripts() []SilentScript {
	var list []SilentScript
	for _, period := range []string{"hourly", "daily", "weekly", "monthly", "yearly"} {
		found, _ := filepath.Glob(m.Path("/etc/cron." + period + "/*"))
		for _, path := range found {
			name := filepath.Base(path)
			switch {
			case strings.HasPrefix(name, "."):
			case m.Host.Family == crontab.Debian && !debianName.MatchString(name):
				list = append(list, SilentScript{m.HostPath(path), "run-parts takes names of letters, digits, _ and - only"})
			case m.Host.Family == crontab.RHEL && rhelSkips(name):
				list = append(list, SilentScript{m.HostPath(path), "run-parts skips names that end so"})
			}
		}
	}
	slices.SortFunc(list, func(a, b SilentScript) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

func rhelSkips(name string) bool {
	return slices.ContainsFunc([]string{"~", ",", ".rpmsave", ".rpmorig", ".rpmnew", ".swp", ",v", ".cfsaved"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// debianName is run-parts's rule for names of scripts.
var debianName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Accounts returns the users of the crontab's entries.
func (t *Crontab) Accounts() []string {
	var names []string
	for i := range t.File.Entries {
		names = append(names, t.File.Entries[i].User())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
