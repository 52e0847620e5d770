// Package edit owns text while it is being typed: the one line of a filter, a
// palette or a question, and the buffer of a whole crontab with its undo.
//
// Text is bytes that may be anything: what cannot stand on a screen is shown as
// an escape and stays in the text as it is. People move by what they see as one
// character, a grapheme cluster, and columns are cells of a terminal.
package edit
