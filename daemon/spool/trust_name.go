package spool

import (
	"strings"

	"github.com/cronring/cronring/crontab"
)

// Ignored is a file in a directory of crontabs that is ignored because of its name.
type Ignored struct {
	Path string
	Why  string // a sentence: "ignored: a dot in the name; Debian's cron does the same"
}

// CodeIgnored is the code of a diagnostic about a name that is ignored.
const CodeIgnored crontab.Code = "F120"

// Diagnostic returns it in lint's form.
func (i Ignored) Diagnostic() crontab.Diagnostic {
	return crontab.Diagnostic{File: i.Path, Severity: crontab.Note, Code: CodeIgnored, Message: i.Why}
}

// ignore returns why a file of this name in a directory of crontabs is ignored, or "". lsb selects
// the names that Debian's cron accepts with -l.
func ignore(k kind, family crontab.Family, lsb bool, name string) string {
	var why string
	switch {
	case family == crontab.RHEL:
		why = cronieIgnores(name)
	case k == userCrontab:
		why = leadingDot(name)
	case lsb:
		why = lsbIgnores(name)
	default:
		why = debianIgnores(name)
	}
	if why == "" {
		return ""
	}
	if family == crontab.RHEL {
		return "ignored: " + why + "; cronie does the same"
	}
	return "ignored: " + why + "; Debian's cron does the same"
}

func leadingDot(name string) string {
	if strings.HasPrefix(name, ".") {
		return "a leading dot"
	}
	return ""
}

// debianIgnores is run-parts's rule: letters, digits, _ and - alone.
func debianIgnores(name string) string {
	if why := leadingDot(name); why != "" {
		return why
	}
	for i := range len(name) {
		if c := name[i]; !lower(c) && !upper(c) && !digit(c) && c != '_' && c != '-' {
			return named(c) + " in the name"
		}
	}
	return ""
}

// lsbIgnores is the rule of cron -l: a name of the LSB's name space for
// packages (_?([a-z0-9_.]+-)+[a-z0-9]+), but none that dpkg left behind, or
// [a-z0-9][a-z0-9-]*.
func lsbIgnores(name string) string {
	if why := leadingDot(name); why != "" {
		return why
	}
	for i := range len(name) {
		if c := name[i]; !lower(c) && !digit(c) && c != '_' && c != '-' && c != '.' {
			return named(c) + " in the name, which cron -l takes for none of its own"
		}
	}
	switch {
	case lsbName(name):
		if strings.HasSuffix(name, "dpkg-old") || strings.HasSuffix(name, "dpkg-dist") {
			return "dpkg left it behind"
		}
		return ""
	case strings.ContainsAny(name, "_.") || strings.HasPrefix(name, "-"):
		return "no name that cron -l takes"
	}
	return ""
}

// lsbName reports whether name, made of a-z 0-9 _ - and dots alone, has parts
// that end in hyphens, none of them empty, and then letters and digits.
func lsbName(name string) bool {
	parts := strings.Split(name, "-")
	last := len(parts) - 1
	if last == 0 || strings.ContainsAny(parts[last], "_.") {
		return false
	}
	for _, part := range parts {
		if part == "" {
			return false
		}
	}
	return true
}

// cronieIgnores is cronie's rule. A suffix needs something in front of it.
func cronieIgnores(name string) string {
	if why := leadingDot(name); why != "" {
		return why
	}
	switch {
	case strings.HasPrefix(name, "#"):
		return "a leading #"
	case strings.HasSuffix(name, "~"):
		return "a ~ at the end"
	case name == ".cron.hostname":
		return "it names the host of a cluster"
	}
	for _, suffix := range []string{".rpmsave", ".rpmorig", ".rpmnew"} {
		if len(name) > len(suffix) && strings.HasSuffix(name, suffix) {
			return "rpm left it behind (" + suffix + ")"
		}
	}
	return ""
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }

// named is a character in words.
func named(c byte) string {
	switch {
	case c == '.':
		return "a dot"
	case c == ' ':
		return "a blank"
	case upper(c):
		return "a capital letter"
	case c >= 0x80:
		return "a letter beyond ASCII"
	case c < ' ' || c == 0x7f:
		return "a control character"
	}
	return "a " + string(rune(c))
}
