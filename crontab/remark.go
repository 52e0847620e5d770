package crontab

import (
	"slices"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// remark adds a diagnostic about length bytes of the current line, from byte at.
func (p *parser) remark(at, length int, code diagnostic.Code, message, fix string) {
	p.remarkAs(at, length, code, code.Severity(), message, fix)
}

// remarkLine adds a diagnostic about a whole line.
func (p *parser) remarkLine(line int, code diagnostic.Code, message, fix string) {
	p.add(diagnostic.Diagnostic{Line: line, Code: code, Severity: code.Severity(), Message: message, Fix: fix})
}

func (p *parser) remarkAs(at, length int, code diagnostic.Code, severity diagnostic.Severity, message, fix string) {
	line, column, length := p.spot(at, length)
	p.add(diagnostic.Diagnostic{
		Line: line, Column: column, Length: length,
		Code: code, Severity: severity, Message: message, Fix: fix,
	})
}

func (p *parser) add(d diagnostic.Diagnostic) {
	d.File = p.file.Name
	d.Message, d.Fix = diagnostic.Harmless(d.Message), diagnostic.Harmless(d.Fix)
	if len(p.remarks) < maxRemarks {
		p.remarks = append(p.remarks, d)
		return
	}
	if !p.dropped {
		p.dropped = true
		p.remarks = append(p.remarks, diagnostic.Diagnostic{
			File: d.File, Line: d.Line, Code: "B305", Severity: diagnostic.Error,
			Message: "more than 10,000 diagnostics: those below this line are omitted",
			Fix:     "correct the first lines, then check again",
		})
	}
}

// forgive removes the diagnostics with a code, from the given index.
func (p *parser) forgive(number int, code diagnostic.Code) {
	tail := slices.DeleteFunc(p.remarks[number:], func(d diagnostic.Diagnostic) bool { return d.Code == code })
	p.remarks = p.remarks[:number+len(tail)]
}
