package crontab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// MaxSetting is the longest NAME=value in bytes, the kernel's limit for a string
// in an environment.
const MaxSetting = 131_071

// setting is one assignment and a link to those above it, so that a file of
// alternating assignments and entries does not take quadratic memory.
type setting struct {
	name, value string
	line        int
	above       *setting
}

func (s *setting) lookup(name string) (string, bool) {
	for ; s != nil; s = s.above {
		if s.name == name {
			return s.value, true
		}
	}
	return "", false
}

func (s *setting) list() []string {
	list := []string{}
	for s = s.compact(); s != nil; s = s.above {
		list = append(list, s.name+"="+s.value)
	}
	slices.Reverse(list)
	return list
}

// Settings returns the assignments above the entry that cron itself evaluates
// (CRON_TZ, RANDOM_DELAY and MAILTO) as options, even if something of higher
// precedence overrides them.
func (e *Entry) Settings() []option.Option {
	var options []option.Option
	add := func(name, key string, value func(string) (string, bool)) {
		for s := e.section.env; s != nil; s = s.above {
			if s.name != name {
				continue
			}
			if v, ok := value(s.value); ok {
				options = append(options, option.Option{Key: key, Value: v, Line: s.line, Origin: option.FromSetting})
			}
			return
		}
	}
	if e.section.file.Format != Anacron { // anacron ignores CRON_TZ, and its RANDOM_DELAY is different
		add("CRON_TZ", "tz", func(v string) (string, bool) { return v, v != "" })
		add("RANDOM_DELAY", "jitter", func(v string) (string, bool) { return v + "m", strings.Trim(v, "0123456789") == "" && v != "" })
	}
	add("MAILTO", "mailto", func(v string) (string, bool) { return v, true })
	return options
}

// assignment is a line read as NAME = value.
type assignment struct {
	name, value string
	nameAt      int // offsets within the line
	valueAt     int
	quoted      bool // the value
}

// readAssignment reads line as NAME = value. The parser tries it before it reads
// the line as an entry, so 0=1, *=b and @daily=1 are assignments too. The grammar
// is that of Debian's cron and cronie: no escapes and no expansion; a quoted value
// must be closed, with only blanks after it; blanks around = and at the end are
// ignored.
func readAssignment(line string, at int) (a assignment, ok bool) {
	a.nameAt = at
	name, at, ok := readName(line, at)
	if !ok {
		return a, false
	}
	at = lex.SkipBlanks(line, at)
	if at == len(line) || line[at] != '=' {
		return a, false
	}
	at = lex.SkipBlanks(line, at+1)
	a.name, a.valueAt = name, at
	if at == len(line) || line[at] != '\'' && line[at] != '"' {
		a.value = strings.TrimRight(line[at:], lex.Blanks)
		return a, true
	}
	length := strings.IndexByte(line[at+1:], line[at])
	if length < 0 {
		return a, false
	}
	a.value, a.quoted, a.valueAt = line[at+1:at+1+length], true, at+1
	return a, lex.SkipBlanks(line, at+length+2) == len(line)
}

// readName reads the name before =, with or without quotes. A = inside quotes
// also ends the name, and the closing quote is then part of the value.
func readName(line string, at int) (name string, end int, ok bool) {
	if at == len(line) {
		return "", at, false
	}
	quote := line[at]
	if quote != '\'' && quote != '"' {
		end = at
		for end < len(line) && line[end] != '=' && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		return line[at:end], end, true
	}
	at++
	for end = at; end < len(line); end++ {
		switch line[end] {
		case quote:
			return line[at:end], end + 1, true
		case '=':
			return line[at:end], end, true
		}
	}
	return "", end, false
}

// assign applies the assignment to the lines below.
func (p *parser) assign(a assignment) {
	switch {
	case a.name == "":
		p.Report(a.nameAt, 1, "B203", "an assignment without a name is ignored", "write a name before the =")
		return
	case len(a.name)+1+len(a.value) > MaxSetting:
		p.Report(a.nameAt, len(a.name), "B202", "the assignment has more than 131,071 bytes, the kernel's limit: it is ignored", "write a shorter value")
		return
	case p.config.MaxEntries > 0 && !p.env.fits(a.name, a.value):
		p.Report(a.nameAt, len(a.name), "B202", "the environment of a user's entry has at most 1,000 variables and 131,071 bytes: the assignment is ignored", "set the variables in a script")
		return
	case a.name == "CRON_TZ":
		p.setZone(a)
	case a.name == "RANDOM_DELAY":
		p.setDelay(a)
	case a.name == "MAILTO":
		p.overridden.mail = true
	}
	p.lintSetting(a)
	p.env.set(setting{name: a.name, value: a.value, line: p.Number})
	p.common = nil
}

// setZone applies CRON_TZ with the meaning that cronie gives it. An empty value
// restores the host's zone.
func (p *parser) setZone(a assignment) {
	p.Zone, p.ZoneHeld, p.overridden.zone = p.cache.host(p.config.Local), "", true
	if a.value == "" {
		return
	}
	zone, err := p.cache.zone(a.value, p.config.Zone)
	if err != nil {
		p.ZoneHeld = fmt.Sprintf("CRON_TZ in line %d is an %v.", p.Number, err)
		p.Report(a.valueAt, len(a.value), "B206", err.Error()+": the entries below are held", "write a name of the time zone database, such as Europe/Paris")
		return
	}
	p.Zone = zone
}

// setDelay applies RANDOM_DELAY, cronie's jitter in minutes.
func (p *parser) setDelay(a assignment) {
	minutes, err := strconv.Atoi(a.value)
	if err != nil || minutes < 0 || minutes > 24*60 {
		p.Report(a.valueAt, max(1, len(a.value)), "B205", "invalid value of RANDOM_DELAY", "write a number of minutes from 0 to 1440")
		minutes = 0
	}
	p.Delay, p.overridden.delay = time.Duration(minutes)*time.Minute, true
}
