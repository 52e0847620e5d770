package crontab

import (
	"slices"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// report adds a diagnostic about length bytes of the current line, from byte at.
func (p *parser) report(at, length int, code diagnostic.Code, message, fix string) {
	p.reportAs(at, length, code, code.Severity(), message, fix)
}

// reportLine adds a diagnostic about a whole line.
func (p *parser) reportLine(line int, code diagnostic.Code, message, fix string) {
	p.add(diagnostic.Diagnostic{Line: line, Code: code, Severity: code.Severity(), Message: message, Fix: fix})
}

func (p *parser) reportAs(at, length int, code diagnostic.Code, severity diagnostic.Severity, message, fix string) {
	line, column, length := p.spot(at, length)
	p.add(diagnostic.Diagnostic{
		Line: line, Column: column, Length: length,
		Code: code, Severity: severity, Message: message, Fix: fix,
	})
}

func (p *parser) add(d diagnostic.Diagnostic) {
	d.File = p.file.Name
	d.Message, d.Fix = diagnostic.Harmless(d.Message), diagnostic.Harmless(d.Fix)
	if len(p.diagnostics) < maxDiagnostics {
		p.diagnostics = append(p.diagnostics, d)
		return
	}
	if !p.dropped {
		p.dropped = true
		p.diagnostics = append(p.diagnostics, diagnostic.Diagnostic{
			File: d.File, Line: d.Line, Code: "B305", Severity: diagnostic.Error,
			Message: "more than 10,000 diagnostics: those below this line are omitted",
			Fix:     "correct the first lines, then check again",
		})
	}
}

// removeDiagnostics removes the diagnostics with a code, from the given index.
func (p *parser) removeDiagnostics(number int, code diagnostic.Code) {
	tail := slices.DeleteFunc(p.diagnostics[number:], func(d diagnostic.Diagnostic) bool { return d.Code == code })
	p.diagnostics = p.diagnostics[:number+len(tail)]
}
