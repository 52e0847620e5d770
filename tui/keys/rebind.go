package keys

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Refusal is a binding of the user that cannot be used.
type Refusal struct {
	Action Action
	Why    string
}

// Rebind returns the table with other keys for some actions. A text has the keys of an
// action, separated by blanks; an empty one takes all keys from it. An action whose new
// keys cannot be used keeps its usual ones, and is reported.
func Rebind(wanted map[Action]string) (*Map, []Refusal) {
	bindings := slices.Clone(table)
	var problems []Refusal
	rebound := map[int]Action{} // by place in the table
	for _, a := range slices.Sorted(maps.Keys(wanted)) {
		i := place(a)
		if why := refuse(i, a, strings.Fields(wanted[a])); why != "" {
			problems = append(problems, Refusal{a, why})
			continue
		}
		bindings[i].Keys, rebound[i] = strings.Fields(wanted[a]), a
	}
	for {
		p, i := conflict(bindings, rebound)
		if i < 0 {
			return newMap(bindings), problems
		}
		problems = append(problems, p)
		bindings[i].Keys = table[i].Keys
		delete(rebound, i)
	}
}

// place returns the index of an action in the table, or -1.
func place(a Action) int {
	return slices.IndexFunc(table, func(b Binding) bool { return b.Action == a })
}

// refuse returns why an action cannot have some keys, whatever other actions have.
func refuse(i int, a Action, keys []string) string {
	switch {
	case i < 0:
		return fmt.Sprintf("no action is called %q: the key ? lists the actions, and so does cronring-dashboard(7)", a)
	case a == Quit:
		return "ctrl+c always ends the dashboard"
	}
	for _, key := range keys {
		if key == "ctrl+c" {
			return "ctrl+c always ends the dashboard"
		}
		if !isKey(key) {
			return fmt.Sprintf("%q is not a key: expected a character, or a name such as ctrl+e, alt+x, f2, space, enter or pgdown", key)
		}
	}
	return ""
}

// conflict returns the first rebound action, in the order of their names, with a key that
// another action has; -1: there is none.
func conflict(bindings []Binding, rebound map[int]Action) (Refusal, int) {
	byName := func(a, b int) int { return strings.Compare(string(rebound[a]), string(rebound[b])) }
	for _, i := range slices.SortedFunc(maps.Keys(rebound), byName) {
		for _, key := range bindings[i].Keys {
			if other := taken(bindings, i, key); other != "" {
				return Refusal{rebound[i], fmt.Sprintf("the key %s belongs to %s: expected another key, or another one for %s too", key, other, other)}, i
			}
		}
	}
	return Refusal{}, -1
}

// taken returns the other action that has a key in the same place, or "".
func taken(bindings []Binding, own int, key string) Action {
	for i, b := range bindings {
		if i != own && overlap(b.Scope, bindings[own].Scope) && slices.Contains(b.Keys, key) {
			return b.Action
		}
	}
	return ""
}

// overlap reports scopes in which a key can only have one action. Those that are the same
// on all screens apply together; a screen may give one of their keys another action.
func overlap(a, b Scope) bool {
	common := []Scope{Everywhere, List, Subject}
	return a == b || slices.Contains(common, a) && slices.Contains(common, b)
}

var (
	modifiers = []string{"ctrl", "alt", "shift", "meta", "super", "hyper"}
	keyNames  = []string{
		"enter", "esc", "tab", "space", "backspace", "delete", "insert", "home", "end", "pgup", "pgdown", "up", "down", "left", "right",
	}
	functionKey = regexp.MustCompile(`^f([1-9]|1[0-9]|2[0-4])$`)
)

// isKey reports whether a terminal may report a key by this name.
func isKey(name string) bool {
	for {
		before, after, found := strings.Cut(name, "+")
		if !found || after == "" || !slices.Contains(modifiers, before) {
			break
		}
		name = after
	}
	r, size := utf8.DecodeRuneInString(name)
	character := size == len(name) && r != utf8.RuneError && unicode.IsGraphic(r) && r != ' '
	return character || slices.Contains(keyNames, name) || functionKey.MatchString(name)
}
