// Package directive owns the parser of option lines (#@ key=value) in crontabs, which checks the
// options one by one and against each other, and suggests what was meant.
package directive
