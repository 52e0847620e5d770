package spool

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab"
)

// maxErrors bounds what a hostile crontab can make the log take.
const maxErrors = 100

// cronErrors returns the lines of cron's log for ignored lines of a crontab: one for each, in
// cron's words if it has any, but with the number of the line, which Debian's cron does not log.
func cronErrors(path, text string, format crontab.Format, diagnostics []crontab.Diagnostic) []string {
	var lines []string
	said, number, rest := 0, 0, text
	var line string
	for _, d := range diagnostics {
		if d.Severity != crontab.Error || !d.Code.IgnoresLine() || d.Line <= said {
			continue
		}
		if len(lines) == maxErrors {
			return append(lines, fmt.Sprintf("and more in %s, these lines will be ignored", path))
		}
		for said = d.Line; number < d.Line; number++ {
			line, rest, _ = strings.Cut(rest, "\n")
		}
		lines = append(lines, fmt.Sprintf("%s, line %d of %s, this line will be ignored", cronWord(d, format, line), d.Line, path))
	}
	return lines
}

// cronFields are the names of the time fields in cron's complaints.
var cronFields = [...]string{"minute", "hour", "day-of-month", "month", "day-of-week"}

// cronWord is cron's complaint about a line, or ours where cron has none.
func cronWord(d crontab.Diagnostic, format crontab.Format, line string) string {
	switch code := string(d.Code); {
	case format == crontab.Anacron:
		return d.Message
	case code == "B013" || code == "B014":
		return "bad time specifier"
	case code == "B012" || code == "B201" || code == "B221" || code == "B224":
		return "bad minute"
	case strings.HasPrefix(code, "B0"):
		before := line[:min(max(d.Column-1, 0), len(line))]
		if field := len(strings.Fields(before+"x")) - 1; field < len(cronFields) {
			return "bad " + cronFields[field]
		}
	case code == "B218" || code == "B219" || code == "B220":
		return "bad command"
	case code == "B301":
		return "missing newline before EOF"
	}
	return d.Message
}
