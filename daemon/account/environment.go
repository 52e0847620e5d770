package account

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
)

// environment is the meaning of /etc/environment and what goes with it.
type environment struct {
	list        []string // NAME=value, in order of appearance
	diagnostics []error
}

// variableLimit is the longest NAME=value that the kernel takes, less the NUL.
const variableLimit = 128<<10 - 1

// Environment returns the variables that PAM sets for jobs, as NAME=value: /etc/environment and, on
// Debian's family, the locale of /etc/default/locale. The caller must not change it.
func (d *Directory) Environment(family crontab.Family) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readEnvironment(family).list
}

// Diagnostics returns the errors in the files that Limits and Environment read, each with its file and
// line. A line with an error has no effect.
func (d *Directory) Diagnostics(family crontab.Family) []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.readLimits().diagnostics, d.readEnvironment(family).diagnostics)
}

// readEnvironment is called with Directory.mu held.
func (d *Directory) readEnvironment(family crontab.Family) environment {
	paths := []string{d.options.Root + "/etc/environment"}
	if family == crontab.Debian {
		paths = append(paths, d.options.Root+"/etc/default/locale")
	}
	e, err := d.environ[family].get(paths, func() (environment, error) {
		var e environment
		for i, path := range paths {
			text, err := read(path)
			if err != nil {
				return e, err
			}
			e.add(path, text, i > 0)
		}
		return e, nil
	})
	if err != nil {
		e.diagnostics = append(e.diagnostics, err)
	}
	return e
}

// add reads a file as pam_env reads its envfile: NAME=value, an export before
// it, # to the end of the line, a backslash that joins lines, quotes around
// the value. NAME alone takes the variable away again.
func (e *environment) add(path, text string, localeOnly bool) {
	for number, line := range joined(text) {
		name, value, hasValue := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		switch {
		case !isVariable(name):
			e.report(path, number, fmt.Errorf("%s is not a valid variable name", shown(name)))
		case strings.Contains(value, "\x00"):
			e.report(path, number, fmt.Errorf("%s has a NUL byte", name))
		case len(name)+1+len(value) > variableLimit:
			e.report(path, number, fmt.Errorf("%s is longer than %d bytes", name, variableLimit))
		case localeOnly && !isLocale(name):
		case !hasValue:
			e.remove(name)
		default:
			e.set(name, unquote(value))
		}
	}
}

func (e *environment) report(path string, number int, err error) {
	e.diagnostics = append(e.diagnostics, fmt.Errorf("%s:%d: %w", path, number, err))
}

func (e *environment) index(name string) int {
	return slices.IndexFunc(e.list, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

func (e *environment) remove(name string) {
	if i := e.index(name); i >= 0 {
		e.list = slices.Delete(e.list, i, i+1)
	}
}

func (e *environment) set(name, value string) {
	if i := e.index(name); i >= 0 {
		e.list[i] = name + "=" + value
		return
	}
	e.list = append(e.list, name+"="+value)
}

// joined are the lines with something in them, each with the number of its
// first, without comment and without what blanks begin it. A comment ends a
// line even where it ends in a backslash.
func joined(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		number, first, whole := 0, 0, ""
		for line := range strings.Lines(text) {
			number++
			line, _, commented := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
			trimmed := strings.TrimLeft(line, " \t")
			switch {
			case trimmed == "":
				continue // also between lines that a backslash joins
			case whole == "":
				first, line = number, trimmed
			}
			if cut := strings.TrimRight(line, " \t"); !commented && strings.HasSuffix(cut, `\`) {
				whole += strings.TrimSuffix(cut, `\`)
				continue
			}
			if !yield(first, whole+line) {
				return
			}
			whole = ""
		}
	}
}

// unquote takes a quote at the beginning away, and with it one at the very end,
// of either kind. Others are part of the value.
func unquote(value string) string {
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return value
	}
	value = value[1:]
	if end := len(value) - 1; end >= 0 && (value[end] == '"' || value[end] == '\'') {
		return value[:end]
	}
	return value
}

func isVariable(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

func isLocale(name string) bool {
	return name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_")
}
