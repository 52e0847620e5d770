package crontab

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/sidecar"
)

// CheckSidecar returns the errors of a sidecar that do not depend on crontabs, sorted
// by file and line. It uses only Zone and Local of the Config.
func CheckSidecar(s *sidecar.Sidecar, c Config) []diagnostic.Diagnostic {
	r := NewCache().reader("", c)
	_, diagnostics := s.Check(&r)
	return diagnostics
}

// UnusedInSidecar returns a diagnostic for each part of a sidecar that matches no
// entry of crontabs, which were parsed with it.
func UnusedInSidecar(s *sidecar.Sidecar, crontabs []*File) []diagnostic.Diagnostic {
	var all []*sidecar.Touched
	for _, t := range crontabs {
		if t.touched != nil {
			all = append(all, t.touched)
		}
	}
	return s.Unused(all)
}

// subjectAt returns the subject for the entry whose time fields begin at byte at
// of the current line. The entry might turn out to be invalid.
func (p *parser) subjectAt(name string, at int) sidecar.Subject {
	s := sidecar.Subject{Name: name, User: p.file.user}
	account, command, _ := p.columns(timesEnd(p.Text, at))
	if p.config.Format == System {
		s.User = p.Text[account:lex.WordEnd(p.Text, account)]
	}
	s.Command, _, _ = splitCommand(p.Text[command:])
	s.Command = strings.TrimRight(s.Command, lex.Blanks)
	return s
}

// overrides is the assignments above an entry that override an option in [default] of
// the sidecar.
type overrides struct{ zone, delay, mail bool }

func (s overrides) has(key string) bool {
	return key == "tz" && s.zone || key == "jitter" && s.delay || key == "mailto" && s.mail
}

// hostDefaults returns the items of [default] that no assignment overrides.
func (p *parser) hostDefaults() []directive.Item {
	switch {
	case p.matcher == nil:
		return nil
	case p.overridden == overrides{}:
		return p.matcher.Defaults
	}
	return slices.DeleteFunc(slices.Clone(p.matcher.Defaults), func(it directive.Item) bool { return p.overridden.has(it.Key) })
}

// under returns the context of an entry that parts of the sidecar might match.
// Entries without own options that match the same parts share it.
func (p *parser) under(s sidecar.Subject) *context {
	over, parts, named := p.matcher.Over(s)
	switch {
	case len(over) == 0:
		return p.withoutSidecar()
	case len(p.block) > 0 || named:
		return p.contextOf(p.block, over...)
	}
	common := p.withoutSidecar()
	if common.under == nil {
		common.under = map[string]*context{}
	}
	if common.under[parts] == nil {
		common.under[parts] = p.contextOf(nil, over...)
	}
	return common.under[parts]
}
