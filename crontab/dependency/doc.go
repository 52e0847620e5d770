// Package dependency owns the connections between jobs by after= and on=: it resolves the
// names and finds cycles.
package dependency
