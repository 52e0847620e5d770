package job

import "strings"

// Environment is a process environment in which each name occurs once, because shells disagree about which of
// two values counts. The zero value is empty.
type Environment struct {
	List  []string // NAME=value, in the order in which the names were set first
	index map[string]int
}

// Set sets variables, each of the form NAME=value.
func (e *Environment) Set(entries ...string) {
	if e.index == nil {
		e.index = make(map[string]int, cap(e.List))
	}
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		if i, ok := e.index[name]; ok {
			e.List[i] = entry
			continue
		}
		e.index[name] = len(e.List)
		e.List = append(e.List, entry)
	}
}

// Has reports whether a variable is set.
func (e *Environment) Has(name string) bool { _, ok := e.index[name]; return ok }

// Value returns the value of a variable, or "" if it is not set.
func (e *Environment) Value(name string) (value string) {
	if i, ok := e.index[name]; ok {
		_, value, _ = strings.Cut(e.List[i], "=")
	}
	return value
}
