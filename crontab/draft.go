package crontab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Draft is the text of a crontab file while a program changes it. What a change
// is not about stays as it is, byte for byte: comments, blanks, line ends.
//
// Its methods take entries by their line numbers, as they are in the draft then.
type Draft struct {
	mark   string // a byte order mark
	lines  []string
	joined bool // lines that end with a backslash go on in the next
}

// NewDraft makes a draft of the text of a file.
func NewDraft(text string, f Format) *Draft {
	d := &Draft{joined: f == Anacron}
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		d.mark, text = byteOrderMark, rest
	}
	if text != "" {
		d.lines = strings.SplitAfter(text, "\n")
	}
	if last := len(d.lines) - 1; last >= 0 && d.lines[last] == "" {
		d.lines = d.lines[:last]
	}
	return d
}

// Text is the text as it is now.
func (d *Draft) Text() string { return d.mark + strings.Join(d.lines, "") }

// lineEnd is how the lines of the file end: as the last one that does.
func (d *Draft) lineEnd() string {
	for _, line := range slices.Backward(d.lines) {
		if strings.HasSuffix(line, "\n") {
			return line[len(bare(line)):]
		}
	}
	return "\n"
}

// bare is a line without its end.
func bare(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// Append adds lines below all others and gives the number of the last of them.
// It refuses to when that would let a line count that does not now, as its own
// end is missing.
func (d *Draft) Append(lines ...string) (number int, err error) {
	end := d.lineEnd()
	if n := len(d.lines); n > 0 {
		last := d.lines[n-1]
		switch at := skipBlanks(last, 0); {
		case strings.HasSuffix(last, "\n"):
		case at < len(last) && last[at] != '#' && !d.joined:
			return 0, fmt.Errorf("line %d, the last one, has no newline and does not count now; it would", n)
		default:
			d.lines[n-1] += end
		}
		if d.isDirective(n-1) || d.goesOn(n-1) {
			d.lines = append(d.lines, end) // it is not about what is added
		}
	}
	for _, line := range lines {
		if err := fitsOnLine(line); err != nil {
			return 0, err
		}
		d.lines = append(d.lines, line+end)
	}
	return len(d.lines), nil
}

func fitsOnLine(text string) error {
	if strings.ContainsAny(text, "\n\r\x00") {
		return errors.New("a line end or NUL byte cannot stand within a line")
	}
	return nil
}

// goesOn tells whether a line is continued in the one below.
func (d *Draft) goesOn(i int) bool {
	return d.joined && i >= 0 && strings.HasSuffix(d.lines[i], "\n") && strings.HasSuffix(bare(d.lines[i]), `\`)
}

// isDirective tells whether a line is part of a block that is for the entry
// below it.
func (d *Draft) isDirective(i int) bool {
	line := bare(d.lines[i])
	at := skipBlanks(line, 0)
	if !strings.HasPrefix(line[at:], "#@") || d.goesOn(i) || d.goesOn(i-1) {
		return false
	}
	first := skipBlanks(line, at+2)
	if first == at+2 || first == len(line) {
		return false
	}
	word := line[first:wordEnd(line, first)]
	return word != "default" && word != "file" && !isProse(word)
}

// extent is the lines of an entry, its block included, as indexes: from its
// first line up to, but not with, the last; entry is where its own lines begin.
func (d *Draft) extent(number int) (from, entry, to int, err error) {
	entry = number - 1
	if entry < 0 || entry >= len(d.lines) {
		return 0, 0, 0, fmt.Errorf("there is no line %d", number)
	}
	for from = entry; from > 0 && d.isDirective(from-1); from-- {
	}
	for to = entry + 1; to < len(d.lines) && d.goesOn(to-1); to++ {
	}
	return from, entry, to, nil
}

// Remove removes entries and the options directly above them.
func (d *Draft) Remove(numbers ...int) error {
	return d.change(numbers, func(int) {}, true)
}

// CommentOut makes comments of entries and of the options directly above them.
// Without the # that each of the lines begins with then, they are entries again.
func (d *Draft) CommentOut(numbers ...int) error {
	return d.change(numbers, func(i int) { d.lines[i] = "#" + d.lines[i] }, false)
}

// change does something to all lines of entries, from the last on, so that the
// numbers above stay.
func (d *Draft) change(numbers []int, do func(i int), drop bool) error {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for _, number := range slices.Backward(numbers) {
		from, _, to, err := d.extent(number)
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			do(i)
		}
		if drop {
			d.lines = slices.Delete(d.lines, from, to)
		}
	}
	return nil
}

// Replace puts another line in the place of an entry's own. The options above it
// stay.
func (d *Draft) Replace(number int, line string) error {
	if err := fitsOnLine(line); err != nil {
		return err
	}
	_, entry, to, err := d.extent(number)
	if err != nil {
		return err
	}
	last := d.lines[to-1]
	d.lines = slices.Replace(d.lines, entry, to, line+last[len(bare(last)):])
	return nil
}

// optionRoom is how long a line of options may become before another is begun,
// in bytes.
const optionRoom = 100

// Set gives an option of an entry a value; "" takes the option away, so that what
// holds is what a #@ default line or the configuration says. It gives the line
// that the entry is in then. Whether the value is one that the option takes is
// for Parse to say.
func (d *Draft) Set(number int, key, value string) (now int, err error) {
	from, entry, _, err := d.extent(number)
	if err != nil {
		return 0, err
	}
	text, err := writeOption(key, value)
	if err != nil {
		return 0, err
	}
	found := false
	for i := entry - 1; i >= from; i-- {
		if d.setIn(i, key, value, text, found) {
			found = true
		}
		if d.isSpent(i) {
			d.lines = slices.Delete(d.lines, i, i+1)
			entry--
		}
	}
	if value == "" || found {
		return entry + 1, nil
	}
	if last := entry - 1; last >= from && d.canTake(last, text) {
		d.appendItem(last, text)
		return entry + 1, nil
	}
	end := d.lineEnd()
	d.lines = slices.Insert(d.lines, entry, "#@ "+text+end)
	return entry + 2, nil
}

// isSpent tells whether nothing is left of a directive line.
func (d *Draft) isSpent(i int) bool { return strings.Trim(bare(d.lines[i]), blanks) == "#@" }

// setIn writes an option into the items of a line that set it, and takes it out
// of all but the first that is met; done says that one was met before.
func (d *Draft) setIn(i int, key, value, text string, done bool) (found bool) {
	line := bare(d.lines[i])
	end := d.lines[i][len(line):]
	for _, it := range slices.Backward(itemsOf(line)) {
		if it.Key != key {
			continue
		}
		from := it.Column - 1
		to := from + it.Length
		if value != "" && !done && !found {
			mark := ""
			if it.Maybe {
				mark = "?"
			}
			line = line[:from] + mark + text + line[to:]
			found = true
			continue
		}
		for from > 0 && isBlank(line[from-1]) {
			from--
		}
		line = line[:from] + line[to:]
		found = true
	}
	if found {
		d.lines[i] = line + end
	}
	return found
}

// itemsOf reads the options of a directive line, by the names that they have
// here.
func itemsOf(line string) []item {
	p := newParser("", "", Config{})
	p.line = line
	var items []item
	for at := skipBlanks(line, skipBlanks(line, 0)+2); at < len(line); at = skipBlanks(line, at) {
		it, end, _ := p.scanItem(at)
		if it.Key == "--" {
			break
		}
		items = append(items, it)
		at = end
	}
	return items
}

// canTake tells whether an option has room at the end of a line.
func (d *Draft) canTake(i int, text string) bool {
	line := bare(d.lines[i])
	items := itemsOf(line)
	if len(items) == 0 || len(line)+1+len(text) > optionRoom {
		return false
	}
	last := items[len(items)-1] // behind one that is not written as an option nothing would be read
	return last.spec != nil || strings.HasPrefix(last.Key, "x-")
}

// appendItem adds an option behind the last of a line, before what is for people.
func (d *Draft) appendItem(i int, text string) {
	line := d.lines[i]
	items := itemsOf(bare(line))
	last := items[len(items)-1]
	at := last.Column - 1 + last.Length
	d.lines[i] = line[:at] + " " + text + line[at:]
}

// writeOption is an option as it is written.
func writeOption(key, value string) (string, error) {
	quotes := ""
	switch {
	case key == "" || strings.ContainsAny(key, blanks+"=?\n\r\x00"):
		return "", fmt.Errorf("%s cannot be the name of an option", quote(key))
	case fitsOnLine(value) != nil:
		return "", fitsOnLine(value)
	case strings.ContainsAny(value, blanks) || strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'"):
		if quotes = `"`; strings.Contains(value, quotes) {
			quotes = "'"
		}
		if strings.Contains(value, quotes) {
			return "", errors.New("a value with both kinds of quotes cannot be written")
		}
	}
	return key + "=" + quotes + value + quotes, nil
}
