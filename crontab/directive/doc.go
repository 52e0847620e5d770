// Package directive owns the lines of options, #@ key=value: it reads their items,
// judges them one by one and against each other, and suggests what was meant.
package directive
