package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// checkCrontabs looks at each file that cron would read.
func checkCrontabs(ctx context.Context, e *examination) []finding {
	var found []finding
	read := 0
	for i := range e.crontabs {
		t := &e.crontabs[i]
		if t.Anacron() && e.AnacronInstalled() {
			continue // anacron's own
		}
		if t.Counts() {
			read++
		}
		found = append(found, e.checkCrontab(ctx, t)...)
	}
	for _, s := range e.SilentScripts() {
		found = append(found, finding{Grade: gradeWarning, What: display.Quote(s.Path) + " never runs: " + s.Why})
	}
	sum := finding{Grade: gradeOK, What: fmt.Sprintf("%s with %s can be read", display.Count(read, "crontab"), cli.Entries(inventory.CountEntries(e.crontabs)))}
	return append([]finding{sum}, found...)
}

func (e *examination) checkCrontab(ctx context.Context, t *inventory.Crontab) []finding {
	switch {
	case t.Ignored && strings.HasPrefix(t.Base(), "."):
		return nil // hidden files are not expected to run
	case t.Ignored:
		return []finding{{Grade: gradeWarning, What: t.Path + " is " + t.Why}}
	case t.Refused != "" && t.Denied && !e.privileged:
		return []finding{{Grade: gradeUnseen, What: t.Path + " cannot be read by this user"}}
	case t.Refused != "":
		return []finding{{Grade: gradeProblem, What: t.Path + " is refused: " + t.Refused, Why: t.Why, Fix: maybe(t.Fix)}}
	}
	var found []finding
	if n := cli.ErrorsIn(t.Diagnostics); n > 0 {
		found = append(found, finding{Grade: gradeProblem, What: t.Path + " has " + display.Count(n, "error"),
			Why: "a line is ignored, an entry is held, an option has no effect, or other crons would not read the file",
			Fix: advice("cronring lint " + display.Quote(t.Path))})
	}
	for _, name := range t.Accounts() {
		switch reason, why := e.Barred(ctx, name); reason {
		case job.NoUser:
			found = append(found, finding{Grade: gradeWarning, What: t.Path + ": " + why, Why: "its entries are held until there is one"})
		case job.AccountRefused:
			found = append(found, finding{Grade: gradeWarning, What: t.Path + ": " + why, Why: "its entries are skipped until it may",
				Fix: advice("chage -l " + display.Quote(name))})
		}
	}
	return found
}
