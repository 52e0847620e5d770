// Package option owns the options of entries, with their names, types and the syntax of their values.
package option
