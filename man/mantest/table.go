package mantest

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Table is a table of results that a test computes: a column list with a comment
// above it that identifies its topic.
type Table struct {
	About []string // the words of the comment
	Head  []string // the cells of the first row
}

// CheckTables compares the tables of a page, whose comment begins with the word
// about, with the results of say. say returns all cells of a row except the first.
// CheckTables returns the differences, or with write corrects the page.
func CheckTables(path, about string, write bool, say func(t Table, row []string) []string) (wrong []string, checked int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read a page: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	var t *Table
	for i, line := range lines {
		comment, marked := strings.CutPrefix(lines[max(i-1, 0)], `.\" `)
		switch {
		case strings.HasPrefix(line, ".Bl -column") && marked && strings.Fields(comment)[0] == about:
			t = &Table{About: strings.Fields(comment)}
		case line == ".El":
			t = nil
		case t == nil || !strings.HasPrefix(line, ".It "):
		case t.Head == nil:
			t.Head = cells(line)
		default:
			got := cells(line)
			want := append(got[:1:1], say(*t, got)...)
			checked++
			if !slices.Equal(got, want) {
				wrong = append(wrong, fmt.Sprintf("%s:%d: got %q, want %q", path, i+1, got, want))
				first, _, _ := strings.Cut(line, " Ta ")
				lines[i] = strings.Join(append([]string{first}, want[1:]...), " Ta ")
			}
		}
	}
	if write && wrong != nil {
		return nil, checked, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
	}
	return wrong, checked, nil
}

// cells returns the texts of the cells of a row.
func cells(line string) (all []string) {
	for _, cell := range strings.Split(strings.TrimPrefix(line, ".It "), " Ta ") {
		for _, macro := range []string{"Cm ", "Em ", "Li "} {
			cell = strings.TrimPrefix(cell, macro)
		}
		all = append(all, cell)
	}
	return all
}
