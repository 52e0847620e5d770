package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/tui/safe"
)

// choice is a flag that takes one of a few words. The first is its default.
type choice struct {
	words []string
	word  string
}

func oneOf(words ...string) *choice { return &choice{words: words, word: words[0]} }

func (c *choice) String() string { return c.word }
func (c *choice) Type() string   { return "WORD" }

// Set refuses a word that is not on the list.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.words, ", "))
	}
	c.word = word
	return nil
}

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

// output is the -o flag of one command.
type output struct {
	choice
	noHeader bool
}

// listOutput adds -o and --no-header to a command whose result is a list. The
// default is a table on a terminal, else plain.
func (a *app) listOutput(cmd *cobra.Command, forms ...string) *output {
	o := &output{choice: choice{words: forms, word: formPlain}}
	if a.tty {
		o.word = formTable
	}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	cmd.Flags().Lookup("output").DefValue = "table on a terminal, else plain"
	addNoHeader(cmd, o)
	return o
}

func addNoHeader(cmd *cobra.Command, o *output) {
	cmd.Flags().BoolVar(&o.noHeader, "no-header", false, "leave out the line of column names")
}

// textOutput adds -o to a command whose result is a page of text.
func (a *app) textOutput(cmd *cobra.Command, forms ...string) *output {
	o := &output{choice: choice{words: forms, word: forms[0]}}
	o.fromEnvironment()
	cmd.Flags().VarP(&o.choice, "output", "o", "form of the result: "+strings.Join(forms, ", "))
	return o
}

// fromEnvironment takes the form that CRONRING_OUTPUT names, if the result has
// it.
func (o *output) fromEnvironment() {
	if word := os.Getenv("CRONRING_OUTPUT"); slices.Contains(o.words, word) {
		o.word = word
	}
}

// forEyes reports whether a person reads the result: relative times, cut
// columns and colours are for them.
func (o *output) forEyes() bool { return o.word == formTable || o.word == formWide }

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
func (a *app) printTable(t *table, o *output) {
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
		a.printPlain(t)
		return
	}
	widths := t.widths()
	for _, row := range t.rows {
		a.printAligned(row, widths, o.word == formTable)
	}
}

func (a *app) printPlain(t *table) {
	for _, row := range t.rows {
		for i, c := range row {
			if i > 0 {
				a.out.WriteByte('\t')
			}
			a.out.WriteString(c.text)
		}
		a.out.WriteByte('\n')
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
func (a *app) printAligned(row []cell, widths []int, fit bool) {
	room := a.width
	if !fit || room == 0 {
		room = 1 << 30
	}
	for i, c := range row {
		text := safe.Cut(c.text, room)
		a.out.WriteString(a.paint(c.tone, text))
		if room -= widths[i] + 2; i == len(row)-1 || room <= 0 {
			break
		}
		a.out.WriteString(strings.Repeat(" ", widths[i]-safe.Width(text)+2))
	}
	a.out.WriteByte('\n')
}

// printJSON writes v as an indented document, or what --json and --jq choose
// of it.
func (a *app) printJSON(v any) error {
	if done, err := a.chooseFrom(v); done {
		return err
	}
	return a.encodeJSON(v)
}

func (a *app) encodeJSON(v any) error {
	enc := json.NewEncoder(a.jsonOut())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine writes v as one line of JSON.
func (a *app) printLine(v any) error {
	enc := json.NewEncoder(a.jsonOut())
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// jsonOut is where JSON is printed. On a terminal, characters that could change
// how it is shown are escaped as \uXXXX: the document stays the same.
func (a *app) jsonOut() io.Writer {
	if a.tty {
		return safe.JSON{W: a.out}
	}
	return a.out
}
