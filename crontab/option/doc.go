// Package option owns the options of entries: their vocabulary, their types and the
// syntax of their values.
package option
