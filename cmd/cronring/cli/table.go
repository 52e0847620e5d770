package cli

import (
	"strings"

	"github.com/cronring/cronring/daemon/display"
)

// The forms of a result that is a list. Table is for people and fits the
// terminal; wide is the same with nothing cut; plain is for cut and awk: one
// tab between fields, nothing cut, times in RFC 3339.
const (
	FormTable = "table"
	FormWide  = "wide"
	FormPlain = "plain"
	FormJSON  = "json"
	FormJSONL = "jsonl"
	FormName  = "name"
	FormText  = "text"
	FormSARIF = "sarif"
)

// Cell is one field of a table.
type Cell struct {
	Text string
	Tone Tone
}

// Table is a result that is a list.
type Table struct {
	Header []string
	Rows   [][]Cell
}

// Add appends a row of cells without colour.
func (t *Table) Add(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Rows = append(t.Rows, row)
}

// PrintList writes a result that is a list: the document with all of it, its items one a
// line, or the table.
func PrintList[T any](a *App, o *Output, document any, items []T, t *Table) error {
	switch o.Value {
	case FormJSON:
		return a.PrintJSON(document)
	case FormJSONL:
		return PrintLines(a, items)
	}
	a.PrintTable(t, o)
	return nil
}

// PrintTable writes t as table, wide or plain, or its first column alone.
func (p *Printer) PrintTable(t *Table, o *Output) {
	for _, row := range t.Rows {
		for i := range row {
			row[i].Text = display.Text(row[i].Text)
		}
	}
	if o.Value == FormName {
		for _, row := range t.Rows {
			p.Printf("%s\n", row[0].Text)
		}
		return
	}
	if !o.NoHeader {
		head := make([]Cell, len(t.Header))
		for i, name := range t.Header {
			head[i] = Cell{strings.ToUpper(name), Faint}
		}
		t.Rows = append([][]Cell{head}, t.Rows...)
	}
	if o.Value == FormPlain {
		p.printPlain(t)
		return
	}
	widths := t.widths()
	for _, row := range t.Rows {
		p.printAligned(row, widths, o.Value == FormTable)
	}
}

func (p *Printer) printPlain(t *Table) {
	for _, row := range t.Rows {
		for i, c := range row {
			if i > 0 {
				p.Out.WriteByte('\t')
			}
			p.Out.WriteString(c.Text)
		}
		p.Out.WriteByte('\n')
	}
}

func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], display.Width(c.Text))
		}
	}
	return widths
}

// printAligned writes one row; fit cuts it at the width of the terminal.
func (p *Printer) printAligned(row []Cell, widths []int, fit bool) {
	room := p.Width
	if !fit || room == 0 {
		room = 1 << 30
	}
	for i, c := range row {
		text := display.Cut(c.Text, room)
		p.Out.WriteString(p.Paint(c.Tone, text))
		if room -= widths[i] + 2; i == len(row)-1 || room <= 0 {
			break
		}
		p.Out.WriteString(strings.Repeat(" ", widths[i]-display.Width(text)+2))
	}
	p.Out.WriteByte('\n')
}
