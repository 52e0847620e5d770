package change

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// CountChanges returns how many lines a change adds and removes.
func CountChanges(all []Line) string {
	added, removed := 0, 0
	for _, l := range all {
		switch l.Kind {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return fmt.Sprintf("+%d -%d lines. The current version is kept as a revision.", added, removed)
}

// Line is a line of a difference: in both texts (' '), only before ('-') or only after ('+'), or the
// heading of a part ('@').
type Line struct {
	Kind          byte
	Before, After string
}

// Text returns the line as it is after the change, or the removed one.
func (l Line) Text() string {
	if l.Kind == '-' {
		return l.Before
	}
	return l.After
}

// DiffTexts compares two texts. It omits equal lines at both ends, except those beside changes.
func DiffTexts(before, after string) (lines []Line) {
	old := splitText(before)
	n := 0 // lines of old so far
	for _, l := range DiffLines(old, splitText(after), strings.Clone) {
		switch l.Kind {
		case '@':
			from, _ := hunkStart(l.After)
			for ; len(lines) > 0 && n < from; n++ {
				lines = append(lines, Line{' ', old[n], old[n]})
			}
			n = from
			continue
		case ' ', '-':
			n++
		}
		lines = append(lines, l)
	}
	changed := func(l Line) bool { return l.Kind != ' ' }
	first, behind := max(slices.IndexFunc(lines, changed)-1, 0), len(lines)
	for behind > 1 && !changed(lines[behind-1]) && !changed(lines[behind-2]) {
		behind--
	}
	return lines[first:behind]
}

func splitText(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// DiffLines compares two texts line by line, in the form that as gives to each line. Of equal lines it
// returns some beside the changes.
func DiffLines(before, after []string, as func(line string) string) []Line {
	join := func(lines []string) []byte {
		var b bytes.Buffer
		for _, line := range lines {
			b.WriteString(as(line))
			b.WriteByte('\n')
		}
		return b.Bytes()
	}
	var lines []Line
	i, j := -1, -1 // the next line of each; -1: no part has begun
	for text := range strings.Lines(string(diff.Diff("before", join(before), "after", join(after)))) {
		switch kind := text[0]; {
		case kind == '@':
			i, j = hunkStart(text)
			lines = append(lines, Line{Kind: '@', After: strings.TrimSpace(text)})
		case i < 0: // "diff before after", "--- before", "+++ after"
		case kind == ' ':
			lines = append(lines, Line{' ', before[i], after[j]})
			i, j = i+1, j+1
		case kind == '-':
			lines = append(lines, Line{Kind: '-', Before: before[i]})
			i++
		default:
			lines = append(lines, Line{Kind: '+', After: after[j]})
			j++
		}
	}
	return lines
}

// hunkStart reads "@@ -3,7 +3,8 @@": the places, counted from 0, at which a hunk
// begins. That of an empty side names the line before.
func hunkStart(text string) (before, after int) {
	fields := strings.Fields(text)
	return hunkPlace(fields[1]), hunkPlace(fields[2])
}

func hunkPlace(field string) int {
	at, count, _ := strings.Cut(field[1:], ",")
	n, _ := strconv.Atoi(at) // the differ wrote it
	if count == "0" {
		return n
	}
	return n - 1
}
