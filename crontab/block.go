package crontab

import (
	"fmt"

	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
)

// readOptions reads a comment, which is a directive line if it begins with #@ and
// a blank. #@daily without a blank is an entry that was commented out.
func (p *parser) readOptions(at int) {
	if rest := p.Text[at:]; len(rest) > 2 && rest[1] == '@' && lex.IsBlank(rest[2]) {
		if first := lex.SkipBlanks(p.Text, at+2); first < len(p.Text) {
			p.readDirective(first)
			return
		}
	}
	p.LintComment(at)
	p.voidBlock("a comment follows")
}

func (p *parser) readDirective(at int) {
	first := p.Text[at:lex.WordEnd(p.Text, at)]
	switch {
	case first == "default":
		p.voidBlock("a #@ default line follows")
		p.common, p.defaults = nil, p.ReadDefaults(at+len(first), p.defaults)
	case directive.IsProse(first):
		p.voidBlock("a comment follows")
		p.LintProse(at)
	default:
		if len(p.block) == 0 {
			p.blockAt = p.Number
		}
		p.block = p.ReadItems(at, p.block)
	}
}

// voidBlock drops directives that are not directly above an entry.
func (p *parser) voidBlock(why string) {
	if len(p.block) == 0 {
		return
	}
	p.ReportLine(p.blockAt, "B402", fmt.Sprintf("%s in line %d instead of an entry: these options have no effect", why, p.Number),
		"write them directly above their entry, or write `#@ default`")
	p.block = nil
}
