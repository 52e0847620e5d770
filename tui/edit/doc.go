// Package edit owns the text that a user of the dashboard types, in the line of a filter, a palette or
// a question, or in the editor of a whole crontab with undo.
//
// Text can be any bytes. Bytes that cannot be drawn are shown as escapes and stay
// unchanged. The cursor moves by grapheme clusters, and columns are cells of a
// terminal.
package edit
