package settings

import (
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// document is the text of a settings file in lines. It finds keys by their paths, and
// changes one key without touching other lines.
type document struct {
	lines      []string
	statements []statement
}

// statement is a header or a key with its value. It occupies the lines from first up to,
// but not including, end.
type statement struct {
	path       []string
	header     bool
	first, end int
}

// parse finds the statements of a text that is valid TOML.
func parse(text string) *document {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	d := &document{lines: strings.Split(text, "\n")}
	var table []string
	for i := 0; i < len(d.lines); {
		s := statement{first: i, end: i + 1}
		i++
		line := strings.TrimSpace(d.lines[s.first])
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			table = firstKey(line)
			s.path, s.header = table, true
			d.statements = append(d.statements, s)
			continue
		}
		for s.end < len(d.lines) && !valid(d.text(s)) {
			s.end++ // the value continues in the next line
		}
		s.path = append(slices.Clone(table), firstKey(d.text(s))...)
		d.statements = append(d.statements, s)
		i = s.end
	}
	return d
}

func (d *document) text(s statement) string { return strings.Join(d.lines[s.first:s.end], "\n") }

// values returns the values of a text; false: it is not valid TOML.
func values(text string) (map[string]any, bool) {
	v := map[string]any{}
	_, err := toml.Decode(text+"\n", &v)
	return v, err == nil
}

func valid(text string) bool {
	_, ok := values(text)
	return ok
}

// firstKey returns the path of the first key or header of a text.
func firstKey(text string) []string {
	md, err := toml.Decode(text+"\n", &map[string]any{})
	if err != nil || len(md.Keys()) == 0 {
		return nil
	}
	return md.Keys()[0]
}

// line returns the line of a key or header, the first of a table if that has none; else 1.
func (d *document) line(path ...string) int {
	for _, s := range d.statements {
		if len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path) {
			return s.first + 1
		}
	}
	return 1
}

// headers returns the lines of the headers of a table.
func (d *document) headers(path ...string) []int {
	var lines []int
	for _, s := range d.statements {
		if s.header && slices.Equal(s.path, path) {
			lines = append(lines, s.first+1)
		}
	}
	return lines
}

// set returns the text with another value of a key, as TOML; "" removes the key.
func (d *document) set(path []string, value string) string {
	table, name := path[:len(path)-1], path[len(path)-1]
	at := slices.IndexFunc(d.statements, func(s statement) bool { return !s.header && slices.Equal(s.path, path) })
	switch {
	case at >= 0 && value == "":
		s := d.statements[at]
		return d.with(s.first, s.end)
	case at >= 0:
		s := d.statements[at]
		return d.with(s.first, s.end, replaceValue(d.text(s), value))
	case value == "":
		return strings.Join(d.lines, "\n")
	}
	added := []string{name + " = " + value}
	place, ok := d.place(table)
	dotted := d.dotted(table)
	switch {
	case ok && len(table) == 0 && d.beginsTable(place):
		added = append(added, "")
	case ok:
	case dotted > 0:
		place, added[0] = dotted, strings.Join(path, ".")+" = "+value
	default:
		place = len(d.lines) - 1
		added = append([]string{"[" + strings.Join(table, ".") + "]"}, added...)
		if place > 0 {
			added = append([]string{""}, added...)
		}
	}
	return d.with(place, place, added...)
}

// dotted returns the line after a key of a table that has no header, such as keys.run = "r", or 0.
func (d *document) dotted(table []string) int {
	for _, s := range slices.Backward(d.statements) {
		if !s.header && len(s.path) == len(table)+1 && slices.Equal(s.path[:len(table)], table) {
			return s.end
		}
	}
	return 0
}

// with returns the text with some lines replaced.
func (d *document) with(first, end int, lines ...string) string {
	return strings.Join(slices.Replace(slices.Clone(d.lines), first, end, lines...), "\n")
}

// place returns the line before which a new key of a table belongs; false: the table has no
// header.
func (d *document) place(table []string) (place int, found bool) {
	if len(table) == 0 {
		return d.topPlace(), true
	}
	for _, s := range d.statements {
		inTable := !s.header && len(s.path) == len(table)+1 && slices.Equal(s.path[:len(table)], table)
		if s.header && slices.Equal(s.path, table) || found && inTable {
			place, found = s.end, true
		}
	}
	return place, found
}

// topPlace returns the line before which a new key outside of tables belongs: behind the
// last one, or else before the first header with its comments.
func (d *document) topPlace() int {
	for i, s := range d.statements {
		switch {
		case s.header && i > 0:
			return d.statements[i-1].end
		case s.header:
			return d.comments(s.first)
		}
	}
	if n := len(d.statements); n > 0 {
		return d.statements[n-1].end
	}
	return len(d.lines) - 1
}

// beginsTable reports whether a header with its comments begins at a line, after an empty line.
func (d *document) beginsTable(line int) bool {
	text := strings.TrimSpace(d.lines[line])
	return (line == 0 || strings.TrimSpace(d.lines[line-1]) == "") && (strings.HasPrefix(text, "[") || strings.HasPrefix(text, "#"))
}

// comments returns the first line of the comments directly above a line.
func (d *document) comments(line int) int {
	for line > 0 && strings.HasPrefix(strings.TrimSpace(d.lines[line-1]), "#") {
		line--
	}
	return line
}

// replaceValue replaces the value of a key. Text around it stays, such as a comment.
func replaceValue(text, value string) string {
	start := 0
	for i := range text {
		if text[i] == '=' && valid(text[:i]+"= 0") {
			start = i + 1
			break
		}
	}
	end := len(text)
	for i := start; i < len(text); i++ {
		if text[i] == '#' && valid(text[:i]) {
			end = i
			break
		}
	}
	old := strings.TrimSpace(text[start:end])
	before, after, _ := strings.Cut(text[start:end], old)
	return text[:start] + before + value + after + text[end:]
}

// isChange reports whether the values of two texts differ in one key only.
func isChange(old, text string, path []string, value string) bool {
	want, ok := values(old)
	if !ok {
		return false
	}
	got, ok := values(text)
	if !ok {
		return false
	}
	change(want, path, value)
	return reflect.DeepEqual(want, got)
}

// change sets or removes a value.
func change(tables map[string]any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		inner, ok := tables[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			tables[name] = inner
		}
		tables = inner
	}
	last := path[len(path)-1]
	if value == "" {
		delete(tables, last)
		return
	}
	parsed, _ := values("x = " + value)
	tables[last] = parsed["x"]
}
