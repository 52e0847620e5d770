package output

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/failure"
	"github.com/cronring/cronring/tui/page"
)

// maxDiffLines bounds how much of two outputs is compared.
const maxDiffLines = 20_000

// comparison is the difference from the output of another run.
type comparison struct {
	run   job.Run
	lines []diffLine
	width int // for which log was made; 0: unified
	log   logView
}

// besideFrom is the least width of a screen that shows two outputs side by side.
const besideFrom = 140

// diffLine is a line of a difference: in both outputs (' '), only before ('-') or only after ('+'),
// or the heading of a part ('@').
type diffLine struct {
	kind          byte
	before, after string
}

// diffLines compares two texts line by line. It ignores times and numbers.
func diffLines(before, after []string) []diffLine {
	before, after = before[:min(len(before), maxDiffLines)], after[:min(len(after), maxDiffLines)]
	unified := diff.Diff("before", timeless(before), "after", timeless(after))
	var lines []diffLine
	i, j := 0, 0 // the next line of each
	for text := range strings.Lines(string(unified)) {
		switch text[0] {
		case '@':
			i, j = hunkStart(text)
			lines = append(lines, diffLine{kind: '@', after: strings.TrimSpace(text)})
		case ' ':
			lines = append(lines, diffLine{' ', before[i], after[j]})
			i, j = i+1, j+1
		case '-':
			if i < 0 {
				continue // "--- before": no hunk has begun
			}
			lines = append(lines, diffLine{kind: '-', before: before[i]})
			i++
		case '+':
			if j < 0 {
				continue
			}
			lines = append(lines, diffLine{kind: '+', after: after[j]})
			j++
		default: // "diff before after"
			i, j = -1, -1
		}
	}
	return lines
}

var diffRoles = map[byte]canvas.Role{' ': canvas.Plain, '-': canvas.Bad, '+': canvas.Good, '@': canvas.Off, '~': canvas.Doubt}

// unified is a difference in one column. Lines of both outputs are those of the new one.
func unified(all []diffLine) []logLine {
	lines := make([]logLine, len(all))
	for i, l := range all {
		text := string(l.kind) + " " + l.before
		switch l.kind {
		case '@':
			text = l.after
		case ' ', '+':
			text = string(l.kind) + " " + l.after
		}
		lines[i] = styledLine(text, diffRoles[l.kind])
	}
	return lines
}

// beside is a difference in two columns of a width each. Lines that were removed stand beside those
// that were added in their place ('~').
func beside(all []diffLine, width int, between string) []logLine {
	var lines []logLine
	for len(all) > 0 {
		l := all[0]
		if l.kind == '@' {
			lines, all = append(lines, styledLine(l.after, diffRoles['@'])), all[1:]
			continue
		}
		removed := countOf(all, '-')
		added := countOf(all[removed:], '+')
		if removed+added == 0 {
			lines, all = appendBeside(lines, l, width, between), all[1:]
			continue
		}
		for i := range max(removed, added) {
			switch {
			case i >= removed:
				l = all[removed+i]
			case i >= added:
				l = all[i]
			default:
				l = diffLine{'~', all[i].before, all[removed+i].after}
			}
			lines = appendBeside(lines, l, width, between)
		}
		all = all[removed+added:]
	}
	return lines
}

// countOf counts the lines of a kind at the begin.
func countOf(all []diffLine, kind byte) (n int) {
	for n < len(all) && all[n].kind == kind {
		n++
	}
	return n
}

// Bounds of a difference in two columns, because all its lines are wrapped when it is first shown. A
// longer one has one column.
const (
	mostBeside     = 1000 // lines
	mostBesideRows = 8    // rows of a line
)

// besideText is the text of a side, which is cut if it is long.
func besideText(text string, width int) string {
	room := mostBesideRows * width
	return page.Shorten(text[:min(len(text), 4*room)], room)
}

func appendBeside(lines []logLine, l diffLine, width int, between string) []logLine {
	signs := map[byte][2]string{' ': {"  ", "  "}, '-': {"- ", "  "}, '+': {"  ", "+ "}, '~': {"- ", "+ "}}[l.kind]
	left := page.Wrap(signs[0]+besideText(l.before, width), width, width)
	right := page.Wrap(signs[1]+besideText(l.after, width), width, width)
	for i := range max(len(left), len(right)) {
		var texts [2]string
		if i < len(left) {
			texts[0] = left[i]
		}
		if i < len(right) {
			texts[1] = right[i]
		}
		lines = append(lines, styledLine(display.Pad(texts[0], width)+" "+between+" "+texts[1], diffRoles[l.kind]))
	}
	return lines
}

// fit makes the lines for the width of a screen.
func (c *comparison) fit(width int, between string) {
	if width < besideFrom || len(c.lines) > mostBeside {
		width = 0
	}
	if c.log.alone && width == c.width {
		return
	}
	c.width, c.log = width, logView{alone: true, lines: unified(c.lines)}
	if width > 0 {
		c.log.lines = beside(c.lines, width/2-3, between)
	}
}

// timeless is the lines as they are compared.
func timeless(lines []string) []byte {
	var b bytes.Buffer
	for _, line := range lines {
		b.WriteString(failure.Numbers.ReplaceAllString(line, "<n>"))
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
