// Package edit owns text while it is typed: the line of a filter, a palette or a
// question, and the buffer of a whole crontab with its undo.
//
// Text can be any bytes. Bytes that cannot be drawn are shown as escapes and stay
// unchanged. The cursor moves by grapheme clusters, and columns are cells of a
// terminal.
package edit
