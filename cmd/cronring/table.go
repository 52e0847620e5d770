package main

import (
	"strings"

	"github.com/cronring/cronring/tui/safe"
)

// The forms of a result that is a list. Table is for eyes and fits the
// terminal; wide is the same with nothing cut; plain is for cut and awk: one
// tab between fields, nothing cut, times in RFC 3339.
const (
	formTable = "table"
	formWide  = "wide"
	formPlain = "plain"
	formJSON  = "json"
	formJSONL = "jsonl"
	formName  = "name"
	formText  = "text"
	formSARIF = "sarif"
)

// cell is one field of a table.
type cell struct {
	text string
	tone tone
}

// table is a result that is a list.
type table struct {
	header []string
	rows   [][]cell
}

// add appends a row of cells without colour.
func (t *table) add(texts ...string) {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].text = text
	}
	t.rows = append(t.rows, row)
}

// printTable writes t as table, wide or plain.
func (p *printer) printTable(t *table, o *output) {
	for _, row := range t.rows {
		for i := range row {
			row[i].text = safe.Text(row[i].text)
		}
	}
	if !o.noHeader {
		head := make([]cell, len(t.header))
		for i, name := range t.header {
			head[i] = cell{strings.ToUpper(name), faint}
		}
		t.rows = append([][]cell{head}, t.rows...)
	}
	if o.word == formPlain {
		p.printPlain(t)
		return
	}
	widths := t.widths()
	for _, row := range t.rows {
		p.printAligned(row, widths, o.word == formTable)
	}
}

func (p *printer) printPlain(t *table) {
	for _, row := range t.rows {
		for i, c := range row {
			if i > 0 {
				p.out.WriteByte('\t')
			}
			p.out.WriteString(c.text)
		}
		p.out.WriteByte('\n')
	}
}

func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], safe.Width(c.text))
		}
	}
	return widths
}

// printAligned writes one row; fit cuts it at the width of the terminal.
func (p *printer) printAligned(row []cell, widths []int, fit bool) {
	room := p.width
	if !fit || room == 0 {
		room = 1 << 30
	}
	for i, c := range row {
		text := safe.Cut(c.text, room)
		p.out.WriteString(p.paint(c.tone, text))
		if room -= widths[i] + 2; i == len(row)-1 || room <= 0 {
			break
		}
		p.out.WriteString(strings.Repeat(" ", widths[i]-safe.Width(text)+2))
	}
	p.out.WriteByte('\n')
}
