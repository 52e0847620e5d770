package crontab

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

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

// remark adds a remark about length bytes of the present line from byte at on.
func (p *parser) remark(at, length int, code Code, message, fix string) {
	p.remarkAs(at, length, code, lineCodes[code].severity, message, fix)
}

// remarkLine adds a remark about a whole line.
func (p *parser) remarkLine(line int, code Code, message, fix string) {
	p.add(Diagnostic{Line: line, Code: code, Severity: lineCodes[code].severity, Message: message, Fix: fix})
}

func (p *parser) remarkAs(at, length int, code Code, severity Severity, message, fix string) {
	line, column, length := p.spot(at, length)
	p.add(Diagnostic{
		Line: line, Column: column, Length: length,
		Code: code, Severity: severity, Message: message, Fix: fix,
	})
}

func (p *parser) add(d Diagnostic) {
	d.File = p.table.Name
	d.Message, d.Fix = harmless(d.Message), harmless(d.Fix)
	if len(p.remarks) < maxRemarks {
		p.remarks = append(p.remarks, d)
		return
	}
	if !p.dropped {
		p.dropped = true
		p.remarks = append(p.remarks, Diagnostic{
			File: d.File, Line: d.Line, Code: "B305", Severity: Error,
			Message: "more than 10,000 remarks: those below this line are left out",
			Fix:     "mend what is listed first",
		})
	}
}

// forgive takes back the remarks of a code from the number on.
func (p *parser) forgive(number int, code Code) {
	tail := slices.DeleteFunc(p.remarks[number:], func(d Diagnostic) bool { return d.Code == code })
	p.remarks = p.remarks[:number+len(tail)]
}

// maxSentence bounds a message or fix in bytes.
const maxSentence = 300

// harmless makes text that may quote the file fit for a terminal and a log.
func harmless(text string) string {
	if len(text) > maxSentence {
		text = text[:maxSentence-3] + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		}
		return '?'
	}, text)
}

// quote puts a word of the file between double quotes, cut if it is long, with
// unprintable bytes escaped.
func quote(word string) string {
	if len(word) > 40 {
		word = word[:37] + "..."
	}
	return fmt.Sprintf("%q", word)
}
