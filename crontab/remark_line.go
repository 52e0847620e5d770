package crontab

import "slices"

// remark adds a diagnostic about length bytes of the current line, from byte at.
func (p *parser) remark(at, length int, code Code, message, fix string) {
	p.remarkAs(at, length, code, code.Severity(), message, fix)
}

// remarkLine adds a diagnostic about a whole line.
func (p *parser) remarkLine(line int, code Code, message, fix string) {
	p.add(Diagnostic{Line: line, Code: code, Severity: code.Severity(), Message: message, Fix: fix})
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
