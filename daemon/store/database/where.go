package database

import "cmp"

// Where collects the conditions of a query, which must all hold. The zero value has none.
type Where struct {
	text string
	args []any
}

// If adds a condition if it is wanted.
func (w *Where) If(wanted bool, condition string, values ...any) {
	if !wanted {
		return
	}
	word := " AND "
	if w.text == "" {
		word = "WHERE "
	}
	w.text += word + condition
	w.args = append(w.args, values...)
}

// Newest returns the rest of a query for the rows with the highest values in a column, highest first. A limit
// of 0 means 100.
func (w *Where) Newest(column string, limit int) (rest string, args []any) {
	return w.text + " ORDER BY " + column + " DESC LIMIT ?", append(w.args, cmp.Or(limit, 100))
}
