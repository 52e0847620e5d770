package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/source"
)

// Draft is the text of a crontab file while a program changes it. A change does
// not touch other bytes of the file: comments, blanks and line ends stay.
//
// Methods identify entries by their current line numbers in the draft.
type Draft struct {
	mark   string // a byte order mark
	lines  []string
	joined bool // a backslash at the end continues the line, as in anacrontab
}

// New returns a draft with the text of a file.
func New(text string, f crontab.Format) *Draft {
	d := &Draft{joined: f == crontab.Anacron}
	if rest, ok := strings.CutPrefix(text, lex.ByteOrderMark); ok {
		d.mark, text = lex.ByteOrderMark, rest
	}
	if text != "" {
		d.lines = strings.SplitAfter(text, "\n")
	}
	if last := len(d.lines) - 1; last >= 0 && d.lines[last] == "" {
		d.lines = d.lines[:last]
	}
	return d
}

// Text returns the current text.
func (d *Draft) Text() string { return d.mark + strings.Join(d.lines, "") }

// lineEnd returns the last line end of the file.
func (d *Draft) lineEnd() string {
	for _, line := range slices.Backward(d.lines) {
		if strings.HasSuffix(line, "\n") {
			return line[len(bare(line)):]
		}
	}
	return "\n"
}

// bare returns line without its line end.
func bare(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// Append adds lines at the end and returns the number of the last one. It returns
// an error if the last line of the file has no newline and is therefore ignored,
// because the added lines would activate it.
func (d *Draft) Append(lines ...string) (number int, err error) {
	end := d.lineEnd()
	if n := len(d.lines); n > 0 {
		last := d.lines[n-1]
		switch at := lex.SkipBlanks(last, 0); {
		case strings.HasSuffix(last, "\n"):
		case at < len(last) && last[at] != '#' && !d.joined:
			return 0, fmt.Errorf("line %d, the last one, is ignored because it has no newline; the change would activate it", n)
		default:
			d.lines[n-1] += end
		}
		if d.isDirective(n-1) || d.goesOn(n-1) {
			d.lines = append(d.lines, end) // so that the directive does not apply to the added lines
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
		return errors.New("a line must not contain a newline or NUL byte")
	}
	return nil
}

// goesOn reports whether a line is continued on the next one.
func (d *Draft) goesOn(i int) bool {
	return d.joined && i >= 0 && strings.HasSuffix(d.lines[i], "\n") && strings.HasSuffix(bare(d.lines[i]), `\`)
}

// isDirective reports whether a line has options for the entry below it.
func (d *Draft) isDirective(i int) bool {
	line := bare(d.lines[i])
	at := lex.SkipBlanks(line, 0)
	if !strings.HasPrefix(line[at:], "#@") || d.goesOn(i) || d.goesOn(i-1) {
		return false
	}
	first := lex.SkipBlanks(line, at+2)
	if first == at+2 || first == len(line) {
		return false
	}
	word := line[first:lex.WordEnd(line, first)]
	return word != "default" && word != "file" && !directive.IsProse(word)
}

// extent returns the lines of an entry with the options above it, as indexes: the
// half-open range [from, to). The entry itself begins at index entry.
func (d *Draft) extent(number int) (from, entry, to int, err error) {
	entry = number - 1
	if entry < 0 || entry >= len(d.lines) {
		return 0, 0, 0, fmt.Errorf("line %d does not exist", number)
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

// CommentOut comments out entries and the options directly above them. To undo
// it, remove the # at the start of each line.
func (d *Draft) CommentOut(numbers ...int) error {
	return d.change(numbers, func(i int) { d.lines[i] = "#" + d.lines[i] }, false)
}

// change applies do to all lines of entries, in reverse order, so that the
// numbers of earlier lines stay valid.
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

// Replace replaces the line of an entry. The options above it stay.
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

// optionRoom is the length in bytes up to which Set extends a line of options.
const optionRoom = 100

// Set sets an option of an entry. The value "" removes the option, so that a #@
// default line or the configuration applies. It returns the new line number of
// the entry. It does not check whether the value is valid; Parse does.
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

// isSpent reports whether a directive line has no options left.
func (d *Draft) isSpent(i int) bool { return strings.Trim(bare(d.lines[i]), lex.Blanks) == "#@" }

// setIn replaces the first occurrence of an option in a line, because without its first word the line
// might be a comment, and removes duplicates of it. If done is true, the option was already set in
// another line, and setIn only removes it.
func (d *Draft) setIn(i int, key, value, text string, done bool) (found bool) {
	line := bare(d.lines[i])
	end := d.lines[i][len(line):]
	items, _ := itemsOf(line)
	first := slices.IndexFunc(items, func(it directive.Item) bool { return it.Key == key })
	for n, it := range slices.Backward(items) {
		if it.Key != key {
			continue
		}
		from := it.Column - 1
		to := from + it.Length
		if value != "" && !done && n == first {
			mark := ""
			if it.Maybe {
				mark = "?"
			}
			line = line[:from] + mark + text + line[to:]
			found = true
			continue
		}
		for from > 0 && lex.IsBlank(line[from-1]) {
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

// itemsOf returns the options of a directive line, with aliases replaced. ok is false if the last one is
// not well formed: its quotes may be open.
func itemsOf(line string) (items []directive.Item, ok bool) {
	r := directive.Reader{Source: source.New("")}
	r.Text = line
	for at := lex.SkipBlanks(line, lex.SkipBlanks(line, 0)+2); at < len(line); at = lex.SkipBlanks(line, at) {
		it, end, isWellFormed := r.ScanItem(at)
		if it.Key == "--" {
			break
		}
		items, ok = append(items, it), isWellFormed
		at = end
	}
	return items, ok
}

// canTake reports whether an option can be appended to a line.
func (d *Draft) canTake(i int, text string) bool {
	line := bare(d.lines[i])
	items, ok := itemsOf(line)
	if !ok || len(line)+1+len(text) > optionRoom {
		return false
	}
	last := items[len(items)-1] // the parser reads nothing after an invalid option
	return last.Spec != nil || strings.HasPrefix(last.Key, "x-")
}

// appendItem adds an option after the last one of a line, before any comment.
func (d *Draft) appendItem(i int, text string) {
	line := d.lines[i]
	items, _ := itemsOf(bare(line))
	last := items[len(items)-1]
	at := last.Column - 1 + last.Length
	d.lines[i] = line[:at] + " " + text + line[at:]
}

// writeOption returns key=value, with quotes if necessary.
func writeOption(key, value string) (string, error) {
	text := option.Written(key, value)
	switch {
	case key == "" || strings.ContainsAny(key, lex.Blanks+"=?\n\r\x00"):
		return "", fmt.Errorf("%s is not a valid option name", diagnostic.Quote(key))
	case fitsOnLine(value) != nil:
		return "", fitsOnLine(value)
	case text == "":
		return "", errors.New("a value cannot contain both kinds of quotes")
	}
	return text, nil
}
