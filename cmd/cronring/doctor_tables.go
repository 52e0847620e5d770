package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// checkTables looks at each file that cron would read.
func checkTables(ctx context.Context, e *examination) []finding {
	var found []finding
	read := 0
	for i := range e.tables {
		t := &e.tables[i]
		if t.anacron() && e.anacronInstalled() {
			continue // anacron's own
		}
		if t.counts() {
			read++
		}
		found = append(found, e.checkTable(ctx, t)...)
	}
	for _, s := range e.silentScripts() {
		found = append(found, finding{Grade: gradeWarning, What: cli.ShellWord(s.Path) + " never runs: " + s.Why})
	}
	sum := finding{Grade: gradeOK, What: fmt.Sprintf("%s with %s can be read", cli.Plural(read, "table"), entries(countEntries(e.tables)))}
	return append([]finding{sum}, found...)
}

// entries counts lines that run.
func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (e *examination) checkTable(ctx context.Context, t *hostTable) []finding {
	switch {
	case t.ignored && strings.HasPrefix(t.base(), "."):
		return nil // nobody expects such a file to run
	case t.ignored:
		return []finding{{Grade: gradeWarning, What: t.path + " is " + t.why}}
	case t.refused != "" && t.denied && !e.privileged:
		return []finding{{Grade: gradeUnseen, What: t.path + " cannot be read by this account"}}
	case t.refused != "":
		return []finding{{Grade: gradeProblem, What: t.path + " is refused: " + t.refused, Why: t.why, Fix: maybe(t.fix)}}
	}
	var found []finding
	if n := errorsIn(t.remarks); n > 0 {
		found = append(found, finding{Grade: gradeProblem, What: fmt.Sprintf("%s: %s, so something in it does not run", t.path, cli.Plural(n, "error")),
			Fix: advice("cronring lint " + cli.ShellWord(t.path))})
	}
	for _, name := range t.accounts() {
		switch reason, why := e.barred(ctx, name); reason {
		case job.NoAccount:
			found = append(found, finding{Grade: gradeWarning, What: t.path + ": " + why, Why: "its entries are held until there is one"})
		case job.AccountRefused:
			found = append(found, finding{Grade: gradeWarning, What: t.path + ": " + why, Why: "its entries are skipped until it may",
				Fix: advice("chage -l " + cli.ShellWord(name))})
		}
	}
	return found
}

func errorsIn(remarks []crontab.Diagnostic) int {
	n := 0
	for _, d := range remarks {
		if d.Severity == crontab.Error {
			n++
		}
	}
	return n
}

// accounts are those that the table's entries run as.
func (t *hostTable) accounts() []string {
	var names []string
	for i := range t.table.Entries {
		names = append(names, t.table.Entries[i].User())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// silentScript is a file that run-parts leaves out without a word.
type silentScript struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// silentScripts looks through the directories that run-parts is told to run.
func (m *machine) silentScripts() []silentScript {
	var list []silentScript
	for _, period := range []string{"hourly", "daily", "weekly", "monthly", "yearly"} {
		found, _ := filepath.Glob(m.path("/etc/cron." + period + "/*"))
		for _, path := range found {
			name := filepath.Base(path)
			switch {
			case strings.HasPrefix(name, "."):
			case m.host.Family == crontab.Debian && !debianName.MatchString(name):
				list = append(list, silentScript{m.shown(path), "run-parts takes names of letters, digits, _ and - only"})
			case m.host.Family == crontab.RHEL && rhelSkips(name):
				list = append(list, silentScript{m.shown(path), "run-parts skips names that end so"})
			}
		}
	}
	slices.SortFunc(list, func(a, b silentScript) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

func rhelSkips(name string) bool {
	return slices.ContainsFunc([]string{"~", ",", ".rpmsave", ".rpmorig", ".rpmnew", ".swp", ",v", ".cfsaved"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}
