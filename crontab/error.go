package crontab

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Severity is the severity of a diagnostic.
type Severity uint8

// The severities. A line with an Error is ignored or its entry held; a line with
// a Warning or Notice takes effect.
const (
	Notice Severity = iota
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

// remark adds a diagnostic about length bytes of the current line, from byte at.
func (p *parser) remark(at, length int, code Code, message, fix string) {
	p.remarkAs(at, length, code, lineCodes[code].severity, message, fix)
}

// remarkLine adds a diagnostic about a whole line.
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
			Message: "more than 10,000 diagnostics: those below this line are omitted",
			Fix:     "correct the first lines, then check again",
		})
	}
}

// forgive removes the diagnostics with a code, from the given index.
func (p *parser) forgive(number int, code Code) {
	tail := slices.DeleteFunc(p.remarks[number:], func(d Diagnostic) bool { return d.Code == code })
	p.remarks = p.remarks[:number+len(tail)]
}

// maxSentence is the longest message or fix in bytes.
const maxSentence = 300

// harmless makes text that may quote the file safe for a terminal and a log.
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

// quote puts a word of the file in double quotes, shortened to 40 bytes, with
// unprintable bytes escaped.
func quote(word string) string {
	if len(word) > 40 {
		word = word[:37] + "..."
	}
	return fmt.Sprintf("%q", word)
}
