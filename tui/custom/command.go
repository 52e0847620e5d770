// Package custom owns the shell commands that users add to the dashboard in their settings, with a
// key and placeholders. The values of placeholders may be chosen by other users, so a shell gets
// them as data.
package custom

import (
	"fmt"
	"slices"

	"github.com/cronring/cronring/tui/keys"
)

// Command is a [[command]] table of the settings.
type Command struct {
	Name    string     // for help and the finder
	Key     string     // empty: only the finder has the command
	On      keys.Scope // the screen on which the key works; empty: all screens
	Run     string     // for sh, with placeholders
	Confirm bool       // ask first
	Output  Output
	Line    int // of the settings file
}

// Output is the place of what a command prints.
type Output string

// The places.
const (
	Pane     Output = "pane"     // a screen shows it as it comes
	Terminal Output = "terminal" // the command has the terminal, like an editor
	Message  Output = "message"  // only the last line is shown
)

// Outputs are all places.
var Outputs = []Output{Pane, Terminal, Message}

// WorksOn reports whether the key works on a screen.
func (c *Command) WorksOn(screen keys.Scope) bool { return c.On == "" || c.On == screen }

// Conflict is a command whose key another action or an earlier command already has.
type Conflict struct {
	Line int // of the command
	Why  string
}

// Conflicts returns the commands whose keys are taken. Such a command keeps its place in the finder.
func Conflicts(commands []Command, m *keys.Map) []Conflict {
	var conflicts []Conflict
	for i := range commands {
		if other := commands[i].taken(commands[:i], m); other != "" {
			conflicts = append(conflicts, Conflict{commands[i].Line, other})
		}
	}
	return conflicts
}

// taken returns who else has the key, or "".
func (c *Command) taken(earlier []Command, m *keys.Map) string {
	if c.Key == "" {
		return ""
	}
	if a, ok := m.Find(c.Key, keys.Subject, keys.List, keys.Everywhere); ok {
		return fmt.Sprintf("the key %s is %q already", c.Key, a)
	}
	for _, screen := range keys.Screens {
		if a, ok := m.Find(c.Key, screen); ok && c.WorksOn(screen) {
			return fmt.Sprintf("the key %s is %q on the screen %s already", c.Key, a, screen)
		}
	}
	if i := slices.IndexFunc(earlier, c.shares); i >= 0 {
		return fmt.Sprintf("the key %s is the command of line %d already", c.Key, earlier[i].Line)
	}
	return ""
}

// shares reports whether another command has the same key on one of the screens.
func (c *Command) shares(other Command) bool {
	return other.Key == c.Key && (c.On == "" || other.WorksOn(c.On))
}
