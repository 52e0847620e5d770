package screen

import (
	"strings"

	"github.com/cronring/cronring/daemon/display"
)

// Environment are the variables with which a command asks the daemon that is shown here.
func (w *World) Environment() []string {
	if w.Remote != "" {
		return []string{"CRONRING_HOST=" + w.Remote}
	}
	return []string{"CRONRING_SOCKET=" + w.Link.Socket}
}

// InShell is a command line with what makes it ask the daemon that is shown
// here: a line that is copied must not act on another host.
func (w *World) InShell(line string) string {
	if rest, ok := strings.CutPrefix(line, "cronring "); ok && len(w.Reach) > 0 {
		return "cronring " + display.ShellLine(w.Reach) + " " + rest
	}
	return line
}
