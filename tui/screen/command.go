package screen

import (
	"strings"
)

// ShellCommand writes arguments so that a shell reads them as they are.
func ShellCommand(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = Quote(arg)
	}
	return strings.Join(quoted, " ")
}

// InShell is a command line with what makes it ask the daemon that is shown
// here: a line that is copied must not act on another host.
func (w *World) InShell(line string) string {
	if rest, ok := strings.CutPrefix(line, "cronring "); ok && len(w.Reach) > 0 {
		return "cronring " + ShellCommand(w.Reach) + " " + rest
	}
	return line
}

func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
