// Package settings owns the user's settings of the dashboard: config.toml.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"

	"github.com/cronring/cronring/tui/custom"
)

// maxSize is the largest accepted size of the file, in bytes.
const maxSize = 1 << 20

// Themes are the names of the themes.
var Themes = []string{"ansi", "dark", "light", "cvd"}

// Settings are the values of the file. A setting without a value has its default.
type Settings struct {
	Theme  string // one of Themes; empty: not set
	Mouse  bool
	Notify bool // of failures that begin
	Hints  bool // at the first start
	Hosts  []Host

	Commands []custom.Command
}

// Host is a [[host]] table.
type Host struct {
	Name    string
	Address string // for ssh; empty in the file: the name
}

// Default returns the settings without a file.
func Default() Settings { return Settings{Mouse: true, Hints: true} }

// Path returns the path of the file: $XDG_CONFIG_HOME/cronring/config.toml.
func Path(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env("HOME"), ".config")
	}
	return filepath.Join(dir, "cronring", "config.toml")
}

// Load reads a file; a missing one has the defaults. It also returns the errors in
// the file. A file that another user owns or can write is not read.
func Load(path string) (Settings, []string) {
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	if err != nil {
		return Default(), []string{err.Error()}
	}
	s, diagnostics := Parse(text)
	for i := range diagnostics {
		diagnostics[i] = path + ": " + diagnostics[i]
	}
	return s, diagnostics
}

func read(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	if why := refuse(info, os.Geteuid()); why != "" {
		return "", fmt.Errorf("%s is ignored: %s", path, why)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > maxSize {
		return "", fmt.Errorf("%s is ignored: it is larger than 1 MiB", path)
	}
	return string(text), nil
}

// refuse returns why a user must not trust a file, or "".
func refuse(info fs.FileInfo, user int) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case ok && int(st.Uid) != user && st.Uid != 0:
		return "another user owns it"
	case info.Mode().Perm()&0o022 != 0:
		return "other users can write it (chmod go-w)"
	}
	return ""
}

// Parse reads the text of a file. Invalid settings are ignored and reported.
func Parse(text string) (Settings, []string) {
	s := Default()
	values := map[string]any{}
	if _, err := toml.Decode(text, &values); err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return s, []string{fmt.Sprintf("line %d: %s", syntax.Position.Line, syntax.Message)}
		}
		return s, []string{err.Error()}
	}
	var diagnostics []string
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "command" {
			diagnostics = append(diagnostics, s.readCommands(values[name], text)...)
		} else if why := s.set(name, values[name]); why != "" {
			diagnostics = append(diagnostics, fmt.Sprintf("line %d: %s", lineOf(text, name), why))
		}
	}
	return s, diagnostics
}

// set assigns one setting, or returns why it cannot.
func (s *Settings) set(name string, value any) string {
	switch name {
	case "theme":
		theme, ok := value.(string)
		if !ok || !slices.Contains(Themes, theme) {
			return fmt.Sprintf("invalid theme: expected %s", strings.Join(Themes, ", "))
		}
		s.Theme = theme
	case "mouse":
		return setBool(&s.Mouse, name, value)
	case "notify":
		return setBool(&s.Notify, name, value)
	case "hints":
		return setBool(&s.Hints, name, value)
	case "host":
		return s.setHosts(value)
	default:
		return fmt.Sprintf("unknown setting %q: expected theme, mouse, notify, hints, [[host]] or [[command]]", name)
	}
	return ""
}

func setBool(to *bool, name string, value any) string {
	on, ok := value.(bool)
	if !ok {
		return fmt.Sprintf("invalid %s: expected true or false", name)
	}
	*to = on
	return ""
}

// setHosts adds the valid hosts, and describes the first invalid one.
func (s *Settings) setHosts(value any) (why string) {
	tables, ok := value.([]map[string]any)
	if !ok {
		return "invalid host: expected [[host]] with name and address"
	}
	for i, t := range tables {
		h, err := hostOf(t)
		if err == "" && slices.ContainsFunc(s.Hosts, func(o Host) bool { return o.Name == h.Name }) {
			err = fmt.Sprintf("a second host has the name %q", h.Name)
		}
		switch {
		case err == "":
			s.Hosts = append(s.Hosts, h)
		case why == "":
			why = fmt.Sprintf("[[host]] number %d: %s", i+1, err)
		}
	}
	return why
}

func hostOf(t map[string]any) (h Host, why string) {
	for key, value := range t {
		text, ok := value.(string)
		if !ok || text == "" || text[0] == '-' || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return h, fmt.Sprintf("invalid %q: expected text without spaces that does not begin with -", key)
		}
		switch key {
		case "name":
			h.Name = text
		case "address":
			h.Address = text
		default:
			return h, fmt.Sprintf("unknown key %q: expected name or address", key)
		}
	}
	if h.Name == "" {
		return h, "the name is missing"
	}
	if h.Address == "" {
		h.Address = h.Name
	}
	return h, ""
}

// lineOf returns the line on which a setting begins.
func lineOf(text, name string) int {
	begins := regexp.MustCompile(`^\s*(\[\[?\s*)?["']?` + regexp.QuoteMeta(name) + `\b`)
	for i, line := range strings.Split(text, "\n") {
		if begins.MatchString(line) {
			return i + 1
		}
	}
	return 1
}
