package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// SeverityTone holds the tone of each severity.
var SeverityTone = map[string]Tone{"error": Bad, "warning": Warn, "notice": Faint}

// PrintDiagnostic writes one diagnostic in one line, as compilers do.
func (p *Printer) PrintDiagnostic(d api.Diagnostic) {
	place := display.Text(d.File)
	if d.Line > 0 { // else it is about the file as a whole
		place += fmt.Sprintf(":%d", d.Line)
	}
	if d.Column > 0 {
		place += fmt.Sprintf(":%d", d.Column)
	}
	p.Printf("%s %s %s %s\n", place, p.Paint(SeverityTone[d.Severity], fmt.Sprintf("%-7s", display.Text(d.Severity))), display.Text(string(d.Code)), display.Text(d.Message))
}

// excerptSide limits how much of a long line is shown on either side of the error.
const excerptSide = 60

// PrintExcerpt shows the line, with carets under the place of the diagnostic.
func (p *Printer) PrintExcerpt(d api.Diagnostic, line string) {
	shown, carets := Excerpt(line, d.Column, d.Length)
	p.Printf("      %s\n", shown)
	if carets != "" {
		p.Printf("      %s\n", p.Paint(SeverityTone[d.Severity], carets))
	}
}

// Excerpt returns a line as a terminal can show it, cut if it is long, and the line below it with
// carets under the bytes from a column on; "" for column 0.
func Excerpt(line string, column, length int) (shown, carets string) {
	line = strings.TrimPrefix(line, lex.ByteOrderMark) // columns do not count it
	at := min(max(column-1, 0), len(line))
	end := min(at+max(length, 1), len(line))
	from, to := max(at-excerptSide, 0), min(at+excerptSide, len(line))
	for range utf8.UTFMax - 1 { // cut between characters
		if from > 0 && !utf8.RuneStart(line[from]) {
			from--
		}
		if to < len(line) && !utf8.RuneStart(line[to]) {
			to++
		}
	}
	end = min(end, to)
	before, marked, after := oneCellTabs(line[from:at]), oneCellTabs(line[at:end]), oneCellTabs(line[end:to])
	if from > 0 {
		before = "..." + before
	}
	if to < len(line) {
		after += "..."
	}
	if column > 0 {
		carets = strings.Repeat(" ", display.Width(before)) + strings.Repeat("^", max(display.Width(marked), 1))
	}
	return before + marked + after, carets
}

// oneCellTabs replaces tabs by blanks, so that carets align.
func oneCellTabs(text string) string { return display.Text(strings.ReplaceAll(text, "\t", " ")) }

// CountDiagnostics sums diagnostics up: "1 error, 2 warnings".
func CountDiagnostics(diagnostics []api.Diagnostic) string {
	n := map[string]int{}
	for _, d := range diagnostics {
		n[d.Severity]++
	}
	parts := []string{display.Count(n["error"], "error"), display.Count(n["warning"], "warning")}
	if n["notice"] > 0 {
		parts = append(parts, display.Count(n["notice"], "notice"))
	}
	return strings.Join(parts, ", ")
}
