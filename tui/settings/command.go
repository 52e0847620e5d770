package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
)

// addCommands adds the valid commands.
func (f *findings) addCommands(value any, d *document) {
	tables, ok := value.([]map[string]any)
	if !ok {
		f.add("invalid command: expected [[command]] with key and run", "command")
		return
	}
	lines := d.headers("command")
	for i, table := range tables {
		c, why := commandOf(table)
		if i < len(lines) {
			c.Line = lines[i]
		}
		if why != "" {
			f.problems = append(f.problems, problem{[]string{"command"}, c.Line, why})
			continue
		}
		f.Commands = append(f.Commands, c)
	}
}

// commandOf reads the table of a command, or returns why it is invalid.
func commandOf(table map[string]any) (c custom.Command, why string) {
	var screen, output string
	texts := map[string]*string{"name": &c.Name, "key": &c.Key, "on": &screen, "run": &c.Run, "output": &output}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value := table[name]
		text, isText := texts[name]
		switch given, ok := value.(string); {
		case isText && ok && given != "":
			*text = given
		case isText:
			return c, fmt.Sprintf("invalid %s: expected text", name)
		case name != "confirm":
			return c, fmt.Sprintf("unknown key %q: expected name, key, on, run, confirm or output", name)
		default:
			if why := setBool(&c.Confirm, name, value); why != "" {
				return c, why
			}
		}
	}
	c.On, c.Output, c.Name = keys.Scope(screen), cmp.Or(custom.Output(output), custom.Pane), cmp.Or(c.Name, c.Run)
	switch {
	case c.On != "" && !slices.Contains(keys.Screens, c.On):
		return c, fmt.Sprintf("unknown screen %q: expected %s", screen, wordsOf(keys.Screens))
	case !slices.Contains(custom.Outputs, c.Output):
		return c, fmt.Sprintf("invalid output %q: expected %s", output, wordsOf(custom.Outputs))
	case strings.ContainsAny(c.Key, " \t\n"):
		return c, fmt.Sprintf(`invalid key %q: expected one key, such as "L" or "ctrl+e"`, c.Key)
	}
	return c, c.Check()
}

// wordsOf lists words for an error.
func wordsOf[T ~string](words []T) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}
