package settings

import (
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/display"
)

// Option is a setting that the options screen changes.
type Option struct {
	Name    string
	Help    string
	Hint    string                     // what to type; empty: a choice
	Choices func(s *Settings) []string // what to choose from; nil: something is typed
	Text    func(s *Settings) string   // the value, as it is chosen or typed
	toml    func(text string) string   // the value of a text, as TOML
}

// Options are all of them.
var Options = []Option{
	choice("theme", "colours of the dashboard", (*Settings).ThemeNames, func(s *Settings) string { return s.themeName() }),
	choice("times", "times of jobs: how far away they are, or the time of day", of(Times), func(s *Settings) string { return s.Times }),
	choice("zone", "time zone: of this terminal, of each job, or UTC", of(Zones), func(s *Settings) string { return s.Zone }),
	choice("clock", "hours of the day", of(Clocks), func(s *Settings) string { return s.Clock }),
	{
		Name: "columns", Help: "columns of the list of jobs", Hint: strings.Join(ColumnNames, " ") + "; a width: command:40",
		Text: func(s *Settings) string { return columnsText(s.columns()) }, toml: listTOML,
	},
	{
		Name: "refresh", Help: "how often the screen changes by itself", Hint: "1s to 1m; from 2s on, changes of jobs are shown together",
		Text: func(s *Settings) string { return display.Brief(s.Refresh) }, toml: strconv.Quote,
	},
	onOff("mouse", "the mouse is on at the start", func(s *Settings) bool { return s.Mouse }),
	onOff("notify", "new failures: desktop notification, and a count in the title", func(s *Settings) bool { return s.Notify }),
	onOff("bell", "new failures: ring the bell", func(s *Settings) bool { return s.Bell }),
	onOff("hints", "hints at the first start", func(s *Settings) bool { return s.Hints }),
}

func choice(name, help string, choices func(*Settings) []string, text func(*Settings) string) Option {
	return Option{Name: name, Help: help, Choices: choices, Text: text, toml: strconv.Quote}
}

func of(choices []string) func(*Settings) []string {
	return func(*Settings) []string { return choices }
}

func onOff(name, help string, value func(*Settings) bool) Option {
	return Option{
		Name: name, Help: help, Choices: of([]string{"true", "false"}),
		Text: func(s *Settings) string { return strconv.FormatBool(value(s)) },
		toml: func(text string) string { return text },
	}
}

// names returns the names of the options.
func names() []string {
	all := make([]string, len(Options))
	for i := range Options {
		all[i] = Options[i].Name
	}
	return all
}

// columns returns the columns of the list of jobs.
func (s *Settings) columns() []Column {
	if len(s.Columns) > 0 {
		return s.Columns
	}
	all := make([]Column, len(ColumnNames))
	for i, name := range ColumnNames {
		all[i].Name = name
	}
	return all
}

// themeName returns the theme, or the default one.
func (s *Settings) themeName() string {
	if s.Theme == "" {
		return Themes[0]
	}
	return s.Theme
}

// To returns the edit that sets an option to a text. An empty text means the default.
func (o *Option) To(text string) Edit {
	e := Edit{Path: []string{o.Name}}
	if text = strings.TrimSpace(text); text != "" {
		e.Value = o.toml(text)
	}
	return e
}

// ColumnsTo returns the edit that chooses columns; none: the usual ones.
func ColumnsTo(columns []Column) Edit {
	e := Edit{Path: []string{"columns"}}
	if len(columns) > 0 {
		e.Value = listTOML(columnsText(columns))
	}
	return e
}

// KeysTo returns the edit that binds keys to an action.
func KeysTo(action string, keys []string) Edit {
	return Edit{Path: []string{"keys", action}, Value: strconv.Quote(strings.Join(keys, " "))}
}

func columnsText(columns []Column) string {
	words := make([]string, len(columns))
	for i, c := range columns {
		words[i] = c.String()
	}
	return strings.Join(words, " ")
}

// listTOML returns the words in a text as a list.
func listTOML(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strconv.Quote(word)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
