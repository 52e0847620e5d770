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

// WarnBroken warns on stderr that a file has errors.
func WarnBroken(a *App, name string, diagnostics []crontab.Diagnostic) {
	n := ErrorsIn(diagnostics)
	if n > 0 {
		a.Infof("%s: %s    cronring lint %s", display.Text(name), display.Count(n, "error"), display.Text(name))
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

// PauseEnd describes when a pause ends, and when one that is planned begins.
func PauseEnd(h *job.Hold, loc *time.Location) string {
	text := ""
	if h.Skips {
		text = ", for its occurrences only,"
	}
	if !h.From.IsZero() {
		text = " from " + h.From.In(loc).Format(LongTime)
	}
	if h.Until.IsZero() {
		return text + " until resumed"
	}
	return text + " until " + h.Until.In(loc).Format(LongTime)
}

// PrintPart prints a part of a problem, such as its fix, unless it is empty.
func PrintPart(a *App, name, text string) {
	if text != "" {
		a.Printf("  %s   %s\n", name, display.Text(text))
	}
}
