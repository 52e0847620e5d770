// Package settings owns the file of a user's settings of the dashboard, config.toml, which it reads,
// checks and changes.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/cronring/cronring/tui/custom"
	"github.com/cronring/cronring/tui/keys"
)

// Settings are the values of the file. A setting without a value has its default.
type Settings struct {
	Theme   string // one of Themes or of Custom; empty: not set
	Custom  map[string]Theme
	Mouse   bool
	Notify  bool // of failures that begin, on the desktop and in the title of the terminal
	Bell    bool // rings when a job begins to fail
	Hints   bool // at the first start
	Times   string
	Zone    string
	Clock   string
	Refresh time.Duration
	Columns []Column // of the jobs; none: the usual ones
	Keys    *keys.Map
	Hosts   []Host

	Commands []custom.Command
}

// The values of the settings with a choice. The first one is the default.
var (
	Themes = []string{"ansi", "dark", "light", "cvd"}
	Times  = []string{"relative", "absolute"}
	Zones  = []string{"local", "job", "utc"} // in the order of screen.ZoneMode
	Clocks = []string{"24h", "12h"}
)

// Limits of Refresh.
const (
	LeastRefresh = time.Second
	MostRefresh  = time.Minute
)

// Host is a [[host]] table.
type Host struct {
	Name    string
	Address string // for ssh; empty in the file: the name
}

// Default returns the settings without a file.
func Default() Settings {
	return Settings{Mouse: true, Hints: true, Times: Times[0], Zone: Zones[0], Clock: Clocks[0], Refresh: LeastRefresh, Keys: keys.Default()}
}

// ThemeNames returns the names of all themes.
func (s *Settings) ThemeNames() []string {
	return append(slices.Clone(Themes), slices.Sorted(maps.Keys(s.Custom))...)
}

// problem is an invalid setting.
type problem struct {
	path []string
	line int
	why  string
}

// concerns reports whether a problem is in a setting.
func (p *problem) concerns(path []string) bool {
	return len(p.path) >= len(path) && slices.Equal(p.path[:len(path)], path)
}

// findings contains the valid settings in a text, and the problems of the others.
type findings struct {
	Settings
	tables   map[string]any
	problems []problem
}

// texts returns the problems with their lines.
func (f *findings) texts(path string) []string {
	var all []string
	for _, p := range f.problems {
		all = append(all, fmt.Sprintf("%s: line %d: %s", path, p.line, p.why))
	}
	return all
}

// inspect reads the text of a file. Invalid settings are ignored and reported.
func inspect(text string) *findings {
	f := &findings{Settings: Default(), tables: map[string]any{}}
	if _, err := toml.Decode(text, &f.tables); err != nil {
		line, why := 1, err.Error()
		if syntax, ok := errors.AsType[toml.ParseError](err); ok {
			line, why = syntax.Position.Line, syntax.Message
		}
		f.problems = []problem{{line: line, why: why}}
		return f
	}
	for name, value := range f.tables {
		if name == "themes" { // before the theme
			f.addThemes(value)
		}
	}
	lines := parse(text)
	for name, value := range f.tables {
		switch name {
		case "themes":
		case "keys":
			f.addKeys(value)
		case "command":
			f.addCommands(value, lines)
		default:
			f.add(f.set(name, value), name)
		}
	}
	for _, c := range custom.Conflicts(f.Commands, f.Keys) {
		f.problems = append(f.problems, problem{[]string{"command"}, c.Line, c.Why})
	}
	for i := range f.problems {
		if p := &f.problems[i]; p.line == 0 {
			p.line = lines.line(p.path...)
		}
	}
	slices.SortFunc(f.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), slices.Compare(a.path, b.path))
	})
	return f
}

// add adds a problem, if there is one.
func (f *findings) add(why string, path ...string) {
	if why != "" {
		f.problems = append(f.problems, problem{path: path, why: why})
	}
}

// addKeys rebinds keys.
func (f *findings) addKeys(value any) {
	table, ok := value.(map[string]any)
	if !ok {
		f.add(`invalid keys: expected [keys], and lines like run = "ctrl+e"`, "keys")
		return
	}
	wanted := map[keys.Action]string{}
	for name, value := range table {
		if text, ok := value.(string); ok {
			wanted[keys.Action(name)] = text
		} else {
			f.add(fmt.Sprintf(`invalid keys of %s: expected a text like "ctrl+e", or "space m" for two`, name), "keys", name)
		}
	}
	bindings, problems := keys.Rebind(wanted)
	f.Keys = bindings
	for _, p := range problems {
		f.add(p.Why, "keys", string(p.Action))
	}
}

// set assigns one setting, or returns why it cannot.
func (s *Settings) set(name string, value any) string {
	switch name {
	case "theme":
		return setChoice(&s.Theme, name, value, s.ThemeNames())
	case "mouse":
		return setBool(&s.Mouse, name, value)
	case "notify":
		return setBool(&s.Notify, name, value)
	case "bell":
		return setBool(&s.Bell, name, value)
	case "hints":
		return setBool(&s.Hints, name, value)
	case "times":
		return setChoice(&s.Times, name, value, Times)
	case "zone":
		return setChoice(&s.Zone, name, value, Zones)
	case "clock":
		return setChoice(&s.Clock, name, value, Clocks)
	case "refresh":
		return s.setRefresh(value)
	case "columns":
		return s.setColumns(value)
	case "host":
		return s.setHosts(value)
	}
	return fmt.Sprintf("unknown setting %q: expected %s, [keys], [themes.NAME], [[host]] or [[command]]", name, strings.Join(names(), ", "))
}

func setBool(to *bool, name string, value any) string {
	on, ok := value.(bool)
	if !ok {
		return fmt.Sprintf("invalid %s: expected true or false", name)
	}
	*to = on
	return ""
}

func setChoice(to *string, name string, value any, choices []string) string {
	text, ok := value.(string)
	if !ok || !slices.Contains(choices, text) {
		return fmt.Sprintf("invalid %s: expected %q", name, choices[0]) + orOthers(choices[1:])
	}
	*to = text
	return ""
}

// orOthers lists the other choices: `, "dark" or "light"`.
func orOthers(choices []string) string {
	text := ""
	for i, c := range choices {
		if i == len(choices)-1 {
			return text + fmt.Sprintf(" or %q", c)
		}
		text += fmt.Sprintf(", %q", c)
	}
	return text
}

func (s *Settings) setRefresh(value any) string {
	text, _ := value.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < LeastRefresh || d > MostRefresh {
		return `invalid refresh: expected a time from "1s" to "1m"`
	}
	s.Refresh = d
	return ""
}
