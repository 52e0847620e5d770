package keys

import (
	"fmt"
	"slices"
	"strings"
)

// maxDiagnostics bounds how much is said about one key file.
const maxDiagnostics = 20

// Read returns the table with the keys of a key file. A line is "ACTION = KEY KEY":
// only these keys perform the action, or none if there are no keys. Invalid lines are
// ignored and reported.
func Read(text string) (*Map, []string) {
	bindings := slices.Clone(table)
	var diagnostics []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if why := rebind(bindings, line); why != "" && len(diagnostics) < maxDiagnostics {
			diagnostics = append(diagnostics, fmt.Sprintf("line %d: %s", i+1, why))
		}
	}
	return newMap(bindings), diagnostics
}

// rebind assigns keys to an action, or returns why it cannot.
func rebind(bindings []Binding, line string) string {
	name, list, ok := strings.Cut(line, "=")
	if !ok {
		return `not of the form "action = key key"`
	}
	action := Action(strings.TrimSpace(name))
	i := slices.IndexFunc(bindings, func(b Binding) bool { return b.Action == action })
	if i < 0 {
		return fmt.Sprintf("no action is called %q", action)
	}
	if action == Quit {
		return "ctrl+c always ends the dashboard"
	}
	keys := strings.Fields(list)
	for _, key := range keys {
		if other := taken(bindings, i, key); other != "" {
			return fmt.Sprintf("%s is %s already", key, other)
		}
	}
	bindings[i].Keys = keys
	return ""
}

// taken returns the action that already has a key in an overlapping scope.
func taken(bindings []Binding, own int, key string) Action {
	if key == "ctrl+c" {
		return Quit
	}
	for i, b := range bindings {
		if i != own && b.Scope == bindings[own].Scope && slices.Contains(b.Keys, key) {
			return b.Action
		}
	}
	return ""
}
