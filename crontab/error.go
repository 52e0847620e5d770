package crontab

import "fmt"

// Severity tells whether a line counts.
type Severity uint8

// The severities. A line with an Error does not count (or is held); one with
// a Warning or Notice does.
const (
	Notice Severity = iota
	Warning
	Error
)

func (s Severity) String() string { return [...]string{"notice", "warning", "error"}[s] }

// Diagnostic is one remark about a place in a crontab file.
type Diagnostic struct {
	File     string
	Line     int // from 1
	Column   int // from 1, in bytes; 0 when the remark is about the whole line or file
	Length   int // bytes that the remark is about, for the caret line; 0 means 1
	Severity Severity
	Code     Code   // stable: "B001"
	Message  string // what is wrong, lower case, no full stop
	Fix      string // what to write instead, or ""
}

// Error gives the form file:line:col: message, as compilers do.
func (d Diagnostic) Error() string {
	if d.Column == 0 {
		return fmt.Sprintf("%s:%d: %s", d.File, d.Line, d.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", d.File, d.Line, d.Column, d.Message)
}

// Code names a kind of remark for ever. Codes are never given another meaning.
type Code string
