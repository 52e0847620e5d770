package output

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
)

// maxDiffLines bounds how much of two outputs is compared.
const maxDiffLines = 20_000

// diffLines compares two texts line by line, in the unified format. It ignores times
// and dates, and shows those of the new text.
func diffLines(before, after []string) []logLine {
	before, after = before[:min(len(before), maxDiffLines)], after[:min(len(after), maxDiffLines)]
	unified := diff.Diff("before", timeless(before), "after", timeless(after))
	var lines []logLine
	i, j := 0, 0 // the next line of each
	for text := range strings.Lines(string(unified)) {
		switch text[0] {
		case '@':
			i, j = hunkStart(text)
			lines = append(lines, styledLine(strings.TrimSpace(text), canvas.Rule))
		case ' ':
			lines = append(lines, logLine{text: "  " + after[j]})
			i, j = i+1, j+1
		case '-':
			if i < 0 {
				continue // "--- before": no hunk has begun
			}
			lines = append(lines, styledLine("- "+before[i], canvas.Bad))
			i++
		case '+':
			if j < 0 {
				continue
			}
			lines = append(lines, styledLine("+ "+after[j], canvas.Good))
			j++
		default: // "diff before after"
			i, j = -1, -1
		}
	}
	return lines
}

// timeless is the lines as they are compared.
func timeless(lines []string) []byte {
	var b bytes.Buffer
	for _, line := range lines {
		b.WriteString(failure.Times.ReplaceAllString(line, "<time>"))
		b.WriteByte('\n')
	}
	return b.Bytes()
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
