package mail

import (
	"cmp"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// addresses reads MAILTO and MAILFROM and notes what is wrong with them.
type addresses struct {
	config Config
	user   string
	lines  []Line
}

// recipient returns the address in mailto=, else in MAILTO, else the user. "" means no recipient.
func (a *addresses) recipient(env *job.Environment, mailto *string) string {
	to, name := a.user, "MAILTO"
	switch {
	case mailto != nil:
		to, name = *mailto, "mailto"
	case env.Has("MAILTO"):
		to = a.expand(env.Value("MAILTO"))
	}
	if to == "" || !a.safe(name, to) {
		return ""
	}
	return to
}

// sender is MAILFROM. Without a usable one cronie writes the account, and
// Debian's cron what "" stands for.
func (a *addresses) sender(env *job.Environment) string {
	if from := a.expand(env.Value("MAILFROM")); from != "" && a.safe("MAILFROM", from) {
		return from
	}
	switch {
	case a.config.Family == crontab.Debian:
		return ""
	case plain(a.user, a.config.Family):
		return a.user
	}
	return "root"
}

// safe refuses an address in the family's word. The log gets the variable's
// name, never its value.
func (a *addresses) safe(name, address string) bool {
	if plain(address, a.config.Family) {
		return true
	}
	word := "UNSAFE MAIL"
	if a.config.Family == crontab.RHEL {
		word = "UNSAFE"
	}
	a.lines = append(a.lines, Line{a.user, word, name})
	return false
}

// plain reports whether text has only characters that the family allows in a header and on a
// command line.
func plain(text string, family crontab.Family) bool {
	return text != "" && crontab.InvalidAddress(text, family) < 0
}

// expand puts the daemon's environment into ${NAME} and $NAME, as cronie does
// in the two addresses. One thing that cannot be a name ends it there.
func (a *addresses) expand(text string) string {
	if a.config.Family != crontab.RHEL {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, ok := variableName(after)
		if !ok {
			b.WriteString("$" + after)
			return b.String()
		}
		if a.config.Getenv != nil {
			b.WriteString(a.config.Getenv(name))
		}
		text = rest
	}
}

// variableName reads the name after a $.
func variableName(text string) (name, rest string, ok bool) {
	inner, braced := strings.CutPrefix(text, "{")
	end := 0
	for end < len(inner) && nameByte(inner[end], end == 0) {
		end++
	}
	name, rest = inner[:end], inner[end:]
	if braced {
		rest, ok = strings.CutPrefix(rest, "}")
		return name, rest, ok && name != ""
	}
	return name, rest, name != ""
}

func nameByte(c byte, first bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || !first && c >= '0' && c <= '9'
}

// hostIn is the host's name in a Subject.
func hostIn(c Config) string {
	if c.FullHost && c.Family == crontab.Debian {
		return c.Host
	}
	first, _, _ := strings.Cut(c.Host, ".")
	return cmp.Or(first, c.Host)
}
