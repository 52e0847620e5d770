package crontab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
)

// MaxText is the largest crontab file in bytes.
const MaxText = 16 << 20

// shortLine is shorter than a typical entry in bytes. It limits the memory that
// Parse allocates in advance for a file with many short lines.
const shortLine = 16

// Parse reads the text of a crontab file in one pass. It returns the valid entries
// and diagnostics about the rest, sorted by position. An invalid line never
// affects other lines. A diagnostic with severity Error means that its line is
// ignored, or that the entry below is held.
//
// Parse stops at the limit c.MaxEntries, with a diagnostic with CodeLimit at the
// first line that it does not read.
func Parse(name, text string, c Config) (*File, []diagnostic.Diagnostic) {
	t, diagnostics, beyond := parse(name, text, c)
	if beyond == nil {
		return t, diagnostics
	}
	// Entries refer to the text: clone it, so that the rest does not stay in memory.
	t, diagnostics, _ = parse(name, strings.Clone(text[:beyond.at]), c)
	t.truncated = true
	return t, append(diagnostics, beyond.diagnostic(name))
}

// parse is Parse; beyond is nil if the whole text was read.
func parse(name, text string, c Config) (t *File, diagnostics []diagnostic.Diagnostic, beyond *excess) {
	p := newParser(name, strings.TrimPrefix(text, lex.ByteOrderMark), c)
	if len(text) > MaxText {
		p.ReportLine(1, "B304", "the file has more than 16 MiB: all of it is ignored", "split the file")
		return p.file, p.Diagnostics, nil
	}
	if strings.HasPrefix(text, lex.ByteOrderMark) {
		p.ReportLine(1, diagnostic.CodeMark, "the file begins with a byte order mark (U+FEFF): it is ignored here, but other crons read it as part of the first line", "save the file as UTF-8 without a byte order mark")
	}
	if c.Format == Anacron {
		p.readAnacrontab()
	} else {
		room := min(strings.Count(text, "\n"), len(text)/shortLine)
		if c.MaxEntries > 0 {
			room = min(room, c.MaxEntries)
		}
		p.file.Entries = make([]Entry, 0, room)
		p.readLines()
	}
	if p.matcher != nil {
		p.file.touched = p.matcher.Touched
	}
	if p.excess != nil {
		p.excess.at += len(text) - len(p.text)
		return nil, nil, p.excess
	}
	p.voidBlock("the file ends")
	if spare := cap(p.file.Entries) - len(p.file.Entries); spare > len(p.file.Entries)/8 {
		p.file.Entries = slices.Clone(p.file.Entries) // crontabs stay in memory for long
	}
	slices.SortStableFunc(p.Diagnostics, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p.file, slices.Compact(p.Diagnostics), nil
}

// parser is the state of one Parse.
type parser struct {
	directive.Reader
	config Config
	cache  *Cache
	file   *File
	text   string
	cut    bool // the file ends before the current line does

	// The settings of the lines so far, which apply to those below.
	env      environment
	defaults []directive.Item
	block    []directive.Item // directives waiting for the entry below them
	blockAt  int              // line of the first
	common   *context
	names    map[string]int // name= options and their lines

	// From the sidecar.
	matcher    *sidecar.Matcher // nil: no sidecar
	overridden overrides

	anacron anacrontab

	jobs   int     // of the entries so far
	cost   int     // lines and options so far
	excess *excess // not nil: the crontab exceeds its limit
}

// context is the context of an entry: assignments, defaults and options.
type context struct {
	section   *section
	modifiers timetable.Modifiers
	items     []directive.Item
	schedules map[string]cachedSchedule // nil if each entry needs a schedule of its own
	under     map[string]*context       // contexts with matching parts of the sidecar, by their key; see over
}

func newParser(name, text string, c Config) *parser {
	p := &parser{
		config: c,
		cache:  c.Cache,
		text:   text,
		file:   &File{Name: name, Format: c.Format, owner: "root", user: cmp.Or(c.User, c.Owner)},
		names:  map[string]int{},
	}
	if c.Format == User && c.Owner != "" {
		p.file.owner = c.Owner
	}
	if p.cache == nil {
		p.cache = NewCache()
	}
	p.Reader = p.cache.reader(name, c)
	p.Rules = directive.Rules{
		Roots: c.Format != User || c.Privileged, Owner: p.file.owner, User: p.file.user,
		Channels: c.Channels, Processors: c.Processors, RingUsers: c.RingUsers, PingHosts: c.PingHosts,
	}
	if ruling := p.cache.ruling(c.Sidecar, c); ruling != nil {
		about := sidecar.File{Name: name, Owner: p.file.owner, Roots: p.Rules.Roots}
		if c.Format == User {
			about.User = p.file.user
		}
		p.matcher = ruling.NewMatcher(about)
	}
	return p
}

func (p *parser) readLines() {
	text := p.text
	most := MaxBytes(p.config.MaxEntries)
	for at := 0; at < len(text); {
		length := strings.IndexByte(text[at:], '\n')
		if p.cut = length < 0; p.cut {
			length = len(text) - at
		}
		p.Number++
		p.Start = at
		p.Text = p.TrimReturn(text[at : at+length])
		at += length + 1
		if at > most && p.config.MaxEntries > 0 {
			p.exceed(fmt.Sprintf("the crontab has %s bytes, and the limit of a user who may have %s entries is %s", thousands(len(text)), thousands(p.config.MaxEntries), thousands(most)))
			return
		}
		p.cost++
		if p.exceeded(0) {
			return
		}
		if p.readLine(); p.excess != nil {
			return
		}
	}
}

// readLine tries blank, comment, assignment and entry, in this order.
func (p *parser) readLine() {
	at := lex.SkipBlanks(p.Text, 0)
	switch {
	case at == len(p.Text):
		p.voidBlock("a blank line follows")
	case p.Text[at] == '#' && p.config.Format == Anacron:
		p.readAnacronComment(at)
	case p.Text[at] == '#':
		p.readOptions(at)
	case strings.IndexByte(p.Text, 0) >= 0:
		p.block = nil
		p.Report(strings.IndexByte(p.Text, 0), 1, "B221", "the line has a NUL byte", "delete the byte")
	case p.cut:
		p.block = nil
		p.ReportLine(p.Number, "B301", "no newline at the end of the file: cron ignores this line, because it might be incomplete", "end the line with a newline")
	case p.config.Format == Anacron:
		p.readAnacronEntry(at)
	default:
		if a, ok := readAssignment(p.Text, at); ok {
			p.voidBlock("an assignment follows")
			p.assign(a)
			return
		}
		p.readEntry(at)
		p.block = nil
	}
}
