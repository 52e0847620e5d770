package diagnostic

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity is the severity of a diagnostic.
type Severity uint8

// The severities. A line with an Error is ignored or its entry held; a line with
// a Warning or Notice takes effect.
const (
	Note Severity = iota
	Warning
	Error
)

func (s Severity) String() string { return [...]string{"notice", "warning", "error"}[s] }

// Diagnostic is an error, warning or note about a place in a crontab file.
type Diagnostic struct {
	File     string
	Line     int // from 1
	Column   int // from 1, in bytes; 0 for the whole line or file
	Length   int // in bytes, for the line with carets; 0 means 1
	Severity Severity
	Code     Code   // stable: "B001"
	Message  string // what is wrong, lower case, no full stop
	Fix      string // what to write instead, or ""
}

// Error returns file:line:column: message, like a compiler.
func (d Diagnostic) Error() string {
	if d.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", d.File, d.Line, d.Column, d.Message)
}

// MaxSentence is the longest message or fix in bytes.
const MaxSentence = 300

// Harmless makes text that may quote the file safe for a terminal and a log, and cuts it at
// MaxSentence.
func Harmless(text string) string {
	cut := min(len(text), MaxSentence)
	for cut < len(text) && cut > MaxSentence-utf8.UTFMax && !utf8.RuneStart(text[cut]) { // within a character
		cut--
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		}
		return '?'
	}, text[:cut])
	if cut == len(text) && len(clean) <= MaxSentence { // a wrong byte becomes three
		return clean
	}
	end := min(len(clean), MaxSentence-len("…"))
	for end < len(clean) && !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end] + "…"
}

// Quote puts a word of the file in double quotes, shortened to 40 bytes, with
// unprintable bytes escaped.
func Quote(word string) string { return fmt.Sprintf("%q", Shorten(word)) }

// Shorten shortens a word of the file to 40 bytes, and does not cut within a character.
func Shorten(word string) string {
	const longest, dots = 40, "..."
	if len(word) <= longest {
		return word
	}
	end := longest - len(dots)
	for end > longest-len(dots)-utf8.UTFMax && !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end] + dots
}
