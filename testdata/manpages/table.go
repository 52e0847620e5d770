package manpages

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Table is a table of what the program does, that a test works out anew: a list of
// columns with a comment above it that says what it is about.
type Table struct {
	About []string // the words of the comment
	Head  []string // the cells of the first row
}

// CheckTables has a program say what the tables of a page have in all columns but
// the first, where the comment above them begins with the word about. It tells
// where the page says otherwise, and with write makes it say that.
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

// cells are the texts of a row.
func cells(line string) (all []string) {
	for _, cell := range strings.Split(strings.TrimPrefix(line, ".It "), " Ta ") {
		for _, macro := range []string{"Cm ", "Em ", "Li "} {
			cell = strings.TrimPrefix(cell, macro)
		}
		all = append(all, cell)
	}
	return all
}
