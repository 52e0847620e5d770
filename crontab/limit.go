package crontab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// linesPerEntry and bytesPerEntry bound the rest of a crontab whose entries
// are limited: comments, assignments, options and long lines cost memory too.
// minLimitedBytes keeps a low limit on entries from making one long command
// impossible.
const (
	linesPerEntry   = 20
	bytesPerEntry   = 256
	minLimitedBytes = 1 << 20
)

// maxVariables and MaxSetting bound the environment above an entry of a
// crontab whose entries are limited. It is copied for each run.
const maxVariables = 1000

// MaxBytes returns the largest crontab in bytes that may hold maxEntries
// entries. 0 means no limit on entries.
func MaxBytes(maxEntries int) int {
	if maxEntries <= 0 {
		return MaxText
	}
	return min(MaxText, max(minLimitedBytes, maxEntries*bytesPerEntry))
}

// excess describes the place where a crontab exceeds Config.MaxEntries.
type excess struct {
	at      int // offset in the text of the first line that is not read
	line    int
	message string
}

// exceeded reports whether the crontab exceeds a limit, so that the current line
// and the lines below it are not read. jobs is the number of jobs that the
// current line adds; with 0 only the limit of lines and options is checked.
func (p *parser) exceeded(jobs int) bool {
	most := p.config.MaxEntries
	switch {
	case p.excess != nil:
	case most <= 0:
	case p.jobs+jobs > most:
		p.exceed(fmt.Sprintf("the crontab has %s jobs, and the limit of a user is %s", thousands(p.jobs+jobs+entryLines(p.below())), thousands(most)))
	case p.cost > most*linesPerEntry:
		p.exceed(fmt.Sprintf("the crontab has more than %s lines and options, the limit of a user who may have %s entries", thousands(most*linesPerEntry), thousands(most)))
	}
	return p.excess != nil
}

// exceed ends the reading of the crontab before the present line.
func (p *parser) exceed(message string) {
	p.excess = &excess{p.Start, p.Number, message + fmt.Sprintf(": nothing from line %d on is read", p.Number)}
}

// below returns the text below the present line.
func (p *parser) below() string {
	rest := p.text[p.Start:]
	return rest[strings.IndexByte(rest, '\n')+1:]
}

// diagnostic describes the excess.
func (x *excess) diagnostic(name string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: name, Line: x.line, Code: diagnostic.CodeLimit, Severity: diagnostic.Error, Message: x.message,
		Fix: "let a script start several of them, or have the administrator raise max-entries-per-user in cronring.toml",
	}
}

// entryLines counts the lines that look like entries. It does not parse them.
func entryLines(text string) (n int) {
	for line := range strings.Lines(text) {
		at := lex.SkipBlanks(line, 0)
		if at == len(line) || line[at] == '\n' || line[at] == '\r' || line[at] == '#' {
			continue
		}
		if _, ok := readAssignment(strings.TrimSuffix(line, "\n"), at); !ok {
			n++
		}
	}
	return n
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// environment is the assignments above the current line.
type environment struct {
	newest *setting
	sizes  map[string]int // bytes of NAME=value by name
	bytes  int
	length int // number of settings in the chain from newest
}

// fits reports whether one more assignment keeps the environment within the
// limits of a user's crontab.
func (e *environment) fits(name, value string) bool {
	before, known := e.sizes[name]
	return (known || len(e.sizes) < maxVariables) && e.bytes-before+len(name)+1+len(value) <= MaxSetting
}

// set adds an assignment. The chain stays at most three times as long as the
// number of names, so that a crontab that assigns a name above each entry does
// not make every start look through all of them.
func (e *environment) set(s setting) {
	if e.sizes == nil {
		e.sizes = map[string]int{}
	}
	size := len(s.name) + 1 + len(s.value)
	e.bytes += size - e.sizes[s.name]
	e.sizes[s.name] = size
	if e.length++; e.length > 16+2*len(e.sizes) {
		e.newest, e.length = e.newest.compact(), len(e.sizes)
	}
	s.above = e.newest
	e.newest = &s
}

// compact returns an equal environment with one setting for each name.
func (s *setting) compact() (compacted *setting) {
	last := map[string]*setting{}
	var names []string // from the nearest up, so that the first place of each name comes last
	for ; s != nil; s = s.above {
		if _, ok := last[s.name]; !ok {
			last[s.name] = s
		}
		names = append(names, s.name)
	}
	slices.Reverse(names)
	for _, name := range names {
		if of, ok := last[name]; ok {
			compacted = &setting{name: name, value: of.value, line: of.line, above: compacted}
			delete(last, name)
		}
	}
	return compacted
}
