package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// longestLine bounds a header line in bytes. RFC 5322 allows 998, and an agent
// that breaks a longer one makes a header of what follows.
const longestLine = 900

// mostVariables bounds the X-Cron-Env headers; cronie reads no more from a
// crontab.
const mostVariables = 1000

// header is the lines above a body.
type header struct{ bytes.Buffer }

// line adds one header. It stays one line whatever text contains: control bytes are shown as cron
// shows them. tail stays complete when the text is cut.
func (h *header) line(name, text, tail string) {
	text = job.Cut(visible(text), longestLine-len(name)-len(": ")-len(tail))
	h.WriteString(name + ": " + text + tail + "\n")
}

// to adds the header To with a list of addresses, folded between them where the line
// gets long.
func (h *header) to(list string) {
	width, _ := h.WriteString("To:")
	for i, address := range strings.Split(list, ",") {
		switch {
		case i == 0:
			h.WriteByte(' ')
		case width+len(address) > longestLine:
			h.WriteString(",\n ")
			width = 0
		default:
			h.WriteByte(',')
		}
		h.WriteString(address)
		width += len(address) + 1
	}
	h.WriteByte('\n')
}

// cronHeader returns the headers that the family's cron writes.
func cronHeader(c Config, r Report, env *job.Environment, from, to string) []byte {
	var h header
	precedence := ""
	if c.Family == crontab.RHEL {
		h.line("From", `"(Cron Daemon)" <`+from, ">")
		precedence = "Precedence: bulk\n"
	} else {
		h.line("From", cmp.Or(from, "root (Cron Daemon)"), "")
	}
	h.to(to)
	h.subject(c, r)
	h.mime(c, env)
	h.WriteString("Auto-Submitted: auto-generated\n" + precedence)
	h.environment(env)
	return h.end()
}

// anacronHeader returns the headers that anacron writes. Debian's anacron ignores MAILFROM and
// writes fewer headers on the format, in another place.
func anacronHeader(c Config, r Report, from, to string) []byte {
	var h header
	subject := "Anacron job '" + r.Anacron + "' on " + c.Host
	if c.Family == crontab.RHEL {
		h.line("From", "Anacron <"+from, ">")
		h.to(to)
		h.WriteString("MIME-Version: 1.0\n")
		h.line("Content-Type", `text/plain; charset="`+charset(c), `"`)
		h.WriteString("Content-Transfer-Encoding: 8bit\n")
		h.line("Subject", subject, "")
	} else {
		h.line("From", "Anacron <"+r.Account.Name, ">")
		h.to(to)
		h.line("Subject", subject, "")
		h.line("Content-Type", "text/plain; charset="+charset(c), "")
	}
	h.WriteString("Auto-Submitted: auto-generated\n")
	return h.end()
}

// subject adds the Subject. Only Debian's cron marks failures in it, and only
// where it logs them as well, with -L 4.
func (h *header) subject(c Config, r Report) {
	tail := ""
	if c.MarkFailed && r.Run.Failed() {
		tail = " (failed)"
	}
	h.line("Subject", fmt.Sprintf("Cron <%s@%s> %s", r.Account.Name, hostIn(c), r.Job.Command), tail)
}

// mime adds the headers on the form of the body, which a crontab may set. An
// empty value is set, too, as in the crons.
func (h *header) mime(c Config, env *job.Environment) {
	kind, encoding := "text/plain; charset="+charset(c), "8bit"
	if env.Has("CONTENT_TYPE") {
		kind = spaced(env.Value("CONTENT_TYPE"))
	}
	if env.Has("CONTENT_TRANSFER_ENCODING") {
		encoding = spaced(env.Value("CONTENT_TRANSFER_ENCODING"))
	}
	h.WriteString("MIME-Version: 1.0\n")
	h.line("Content-Type", kind, "")
	h.line("Content-Transfer-Encoding", encoding, "")
}

// charset is the codeset of the daemon's locale; that of the C locale has a
// name in mail, which Debian's cron writes.
func charset(c Config) string {
	name := c.Charset
	if name == "" {
		name = codeset(c.Getenv)
	}
	if name == "ANSI_X3.4-1968" && c.Family == crontab.Debian {
		return "US-ASCII"
	}
	return name
}

// codeset returns what nl_langinfo(CODESET) would return for the locale in the environment, if that
// is installed. A locale without a codeset in its name counts as UTF-8, because nearly all are
// today.
func codeset(getenv func(string) string) string {
	var locale string
	if getenv != nil {
		locale = cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	}
	locale, _, _ = strings.Cut(locale, "@")
	name, set, found := strings.Cut(locale, ".")
	switch {
	case found && (strings.EqualFold(set, "UTF-8") || strings.EqualFold(set, "utf8")):
		return "UTF-8"
	case found && plain(set, crontab.RHEL):
		return strings.ToUpper(set)
	case name == "", name == "C", name == "POSIX":
		return "ANSI_X3.4-1968"
	}
	return "UTF-8"
}

func (h *header) environment(env *job.Environment) {
	for _, entry := range env.List[:min(len(env.List), mostVariables)] {
		h.line("X-Cron-Env", "<"+entry, ">")
	}
}

func (h *header) end() []byte {
	h.WriteByte('\n')
	return h.Bytes()
}

// visible shows control bytes as ^X, those of the upper half in octal. A tab
// stays, as in the crons' own mail: it is harmless within a line.
func visible(text string) string {
	if strings.IndexFunc(text, control) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !control(r):
			_, size := utf8.DecodeRuneInString(text[i:])
			b.WriteString(text[i : i+size]) // also bytes that are not UTF-8
		case r < 0x80:
			b.WriteByte('^')
			b.WriteByte(byte(r) ^ '@')
		default:
			fmt.Fprintf(&b, `\%03o\%03o`, text[i], text[i+1])
		}
	}
	return b.String()
}

func control(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 }

// spaced makes a blank of what would end a header.
func spaced(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, text)
}
