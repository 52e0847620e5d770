package custom

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/display"
)

// Values are the values of the placeholders. {job} has several values if several jobs are marked.
type Values map[string][]string

// placeholders maps the name of each placeholder to the selection that it needs.
var placeholders = map[string]string{
	"job":  "no job is selected",
	"run":  "no run is selected, and the job never ran",
	"file": "no job or file is selected",
	"line": "no line of a file is selected",
	"host": "the host is not known yet",
}

// expected lists the placeholders for an error.
const expected = "{job}, {run}, {file}, {line} or {host}"

// piece is a part of a command: text for the shell, or a placeholder.
type piece struct {
	text  string // of the command
	name  string // of the placeholder; empty: it is none
	alone bool   // the placeholder is a word by itself
}

var braces = regexp.MustCompile(`^\{[a-z]+\}`)

// Check returns why the text of a command is invalid, or "".
func (c *Command) Check() string {
	if strings.TrimSpace(c.Run) == "" || strings.Contains(c.Run, "\x00") {
		return `run is missing: expected a command for sh, such as run = "journalctl -g {job}"`
	}
	_, why := split(c.Run)
	return why
}

// split cuts a command at its placeholders, or returns why it is invalid. A placeholder must not be
// in quotes, where the quotes around its value would end them.
func split(run string) (pieces []piece, why string) {
	begin, quote := 0, byte(0)
	for i := 0; i < len(run); i++ {
		switch c := run[i]; {
		case c == '\\' && quote != '\'':
			i++
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '{' && (i == 0 || run[i-1] != '$'):
			text := braces.FindString(run[i:])
			name := strings.Trim(text, "{}")
			switch _, known := placeholders[name]; {
			case known && quote != 0:
				return nil, fmt.Sprintf("remove the quotes around %s: its value is quoted", text)
			case known:
				end := i + len(text)
				pieces = append(pieces, piece{text: run[begin:i]}, piece{text, name, isBlank(run, i-1) && isBlank(run, end)})
				begin, i = end, end-1
			case text != "" && quote == 0:
				return nil, fmt.Sprintf("unknown placeholder %s: expected %s", text, expected)
			}
		}
	}
	return append(pieces, piece{text: run[begin:]}), ""
}

// isBlank reports whether a byte of a text is a blank, or outside of the text.
func isBlank(text string, i int) bool {
	return i < 0 || i >= len(text) || strings.IndexByte(" \t\n", text[i]) >= 0
}

// Refuses returns why a command cannot run with some values, or "". A value that begins with a
// hyphen would be an option of the program that gets it.
func (c *Command) Refuses(v Values) string {
	pieces, why := split(c.Run)
	for _, p := range pieces {
		switch values := v[p.name]; {
		case p.name == "":
		case len(values) == 0:
			return placeholders[p.name]
		case len(values) > 1 && !p.alone:
			return "one job at a time"
		case slices.ContainsFunc(values, func(value string) bool { return strings.HasPrefix(value, "-") }):
			return "the value of " + p.text + " begins with a hyphen, like an option"
		}
	}
	return why
}

// Text returns the command with its values quoted, as a user could type it in a shell.
func (c *Command) Text(v Values) string { return c.fill(v, display.Quote) }

// script returns the command for sh, and the variables of its environment that have the values. As
// the shell expands variables after it has read the syntax, no value is ever syntax.
func (c *Command) script(v Values) (script string, variables []string) {
	script = c.fill(v, func(value string) string {
		name := fmt.Sprintf("CRONRING_VALUE_%d", len(variables)+1)
		variables = append(variables, name+"="+value)
		return `"$` + name + `"`
	})
	return script, variables
}

// fill writes values in the place of placeholders, each as write does.
func (c *Command) fill(v Values, write func(value string) string) string {
	var b strings.Builder
	pieces, _ := split(c.Run)
	for _, p := range pieces {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		for i, value := range v[p.name] {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(write(value))
		}
	}
	return b.String()
}
