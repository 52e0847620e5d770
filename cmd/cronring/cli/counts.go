package cli

import (
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// Entries formats a number of entries.
func Entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// WarnBroken warns on stderr that lines of a file are ignored because of errors.
func WarnBroken(a *App, name string, diagnostics []crontab.Diagnostic) {
	n := ErrorsIn(diagnostics)
	if n > 0 {
		a.Infof("%s: %s, those lines are left out    cronring lint %s", display.Text(name), Plural(n, "error"), display.Text(name))
	}
}

// ErrorsIn counts the errors among diagnostics.
func ErrorsIn(diagnostics []crontab.Diagnostic) int {
	n := 0
	for _, d := range diagnostics {
		if d.Severity == crontab.Error {
			n++
		}
	}
	return n
}

// PauseEnd describes when a pause ends.
func PauseEnd(h *job.Hold, loc *time.Location) string {
	if h.Until.IsZero() {
		return " until resumed"
	}
	return " until " + h.Until.In(loc).Format(LongTime)
}

// PrintPart prints a part of a problem, such as its fix, unless it is empty.
func PrintPart(a *App, name, text string) {
	if text != "" {
		a.Printf("  %s   %s\n", name, display.Text(text))
	}
}
