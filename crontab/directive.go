package crontab

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// maxItems is the highest number of options of one entry, and of all #@ default
// lines above it. It limits the cost of a hostile file.
const maxItems = 64

// item is one key=value of a directive line, and whether it takes effect.
type item struct {
	option.Option
	spec     *option.Spec // nil for x- keys and unknown keys
	bare     bool         // key alone
	quoted   bool         // the value has quotes
	off      bool         // ignored, because it is marked with ?
	held     string       // not "": the entry must not run, for this reason
	degraded string       // not "": the entry runs without it, for this reason
}

// effective reports whether the item takes effect.
func (it *item) effective() bool { return !it.off && it.held == "" && it.degraded == "" }

// isDefault reports whether the item applies to many entries, so that it might
// not be meaningful for each.
func (it *item) isDefault() bool {
	return it.Origin == option.FromDefault || it.Origin == option.FromSidecarDefault
}

// readComment reads a comment, which is a directive line if it begins with #@ and
// a blank. #@daily without a blank is an entry that was commented out.
func (p *parser) readComment(at int) {
	if rest := p.Text[at:]; len(rest) > 2 && rest[1] == '@' && lex.IsBlank(rest[2]) {
		if first := lex.SkipBlanks(p.Text, at+2); first < len(p.Text) {
			p.readDirective(first)
			return
		}
	}
	p.lintComment(at)
	p.voidBlock("a comment follows")
}

func (p *parser) readDirective(at int) {
	first := p.Text[at:lex.WordEnd(p.Text, at)]
	switch {
	case first == "default":
		p.voidBlock("a #@ default line follows")
		p.readDefaults(at + len(first))
	case first == "file":
		p.voidBlock("a #@ file line follows")
		p.readProperties(at + len(first))
	case isProse(first):
		p.voidBlock("a comment follows")
		p.lintProse(at)
	default:
		if len(p.block) == 0 {
			p.blockAt = p.Number
		}
		p.block = p.readItems(at, p.block)
	}
}

// isProse reports whether the first word of a directive line is neither a key nor
// contains =, so that the line is an ordinary comment.
func isProse(word string) bool {
	if word == "--" || strings.ContainsRune(word, '=') {
		return false
	}
	word = strings.TrimPrefix(word, "?")
	return !option.IsKey(word) && !strings.HasPrefix(word, "x-")
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

// readDefaults reads the items of a #@ default line. Each applies to all entries
// below until another line changes it. A line without items ends all defaults.
func (p *parser) readDefaults(at int) {
	p.common = nil
	items := p.readItems(at, nil)
	if len(items) == 0 {
		p.defaults = nil
		return
	}
	defaults := append([]item(nil), p.defaults...)
	for _, it := range items {
		it.Origin = option.FromDefault
		if it.Key == "name" {
			p.refuse(&it, "B410", "name= can be set for one entry only", "write `#@ name="+it.Value+"` directly above the entry")
			continue
		}
		if old := find(defaults, it.Key); old != nil {
			*old = it
			continue
		}
		defaults = append(defaults, it)
	}
	if len(defaults) > maxItems {
		p.refuseRest(&defaults[0], at)
		defaults = defaults[:maxItems]
	}
	p.defaults = defaults
}

// readProperties reads a #@ file line. Its properties are reserved, but not
// implemented.
func (p *parser) readProperties(at int) {
	for at = lex.SkipBlanks(p.Text, at); at < len(p.Text); at = lex.SkipBlanks(p.Text, at) {
		it, end, ok := p.scanItem(at)
		switch {
		case it.Key == "--":
			return
		case !ok:
		case it.Key == "strict" || it.Key == "owner":
			p.reportItem(&it, "B407", "the file property "+it.Key+" is not implemented in this version", "")
		case !strings.HasPrefix(it.Key, "x-"):
			p.reportItem(&it, "B403", "unknown file property "+diagnostic.Quote(it.Key), "the properties are strict and owner")
		}
		at = end
	}
}

// readItems reads the items from byte at and appends them to those of the lines
// above.
func (p *parser) readItems(at int, items []item) []item {
	first := len(p.Diagnostics) // of the item before
	for at = lex.SkipBlanks(p.Text, at); at < len(p.Text); at = lex.SkipBlanks(p.Text, at) {
		it, end, ok := p.scanItem(at)
		at = end
		if it.Key == "--" {
			break
		}
		if len(items) == maxItems {
			p.refuseRest(&items[0], it.Column-1)
			break
		}
		before := len(items) - 1
		switch {
		case !ok:
		case it.isStray() && before >= 0 && items[before].takesRest(p.Number):
			at = p.refuseStray(&it, &items[before], first)
		default:
			first = len(p.Diagnostics)
			p.judge(&it, items)
		}
		items = append(items, it)
	}
	return items
}

// refuseRest ignores the rest of the line. It marks first as held, because the
// rest might contain guards.
func (p *parser) refuseRest(first *item, at int) {
	why := fmt.Sprintf("more than %d options for one entry", maxItems)
	p.Report(at, len(p.Text)-at, "B413", why+": the entry is held", "delete some of them")
	first.held = sentence(first, why)
}

// scanItem reads one item and returns its end. If the syntax is wrong, it adds a
// diagnostic and returns ok false.
func (p *parser) scanItem(at int) (it item, end int, ok bool) {
	line := p.Text
	it.Line, it.Column, it.Origin = p.Number, at+1, option.FromDirective
	key := at
	if line[at] == '?' {
		it.Maybe = true
		key++
	}
	end = key
	for end < len(line) && !lex.IsBlank(line[end]) && line[end] != '=' {
		end++
	}
	it.Key = line[key:end]
	switch blank := lex.SkipBlanks(line, end); {
	case end < len(line) && line[end] == '=' && end == key:
		return p.badItem(it, lex.WordEnd(line, end), "no key before =")
	case end < len(line) && line[end] == '=':
		return p.scanValue(it, end+1)
	case blank < len(line) && line[blank] == '=':
		return p.badItem(it, valueEnd(line, blank+1), "no blank is allowed before or after =")
	}
	it.Value, it.bare = "yes", true
	return finishItem(it, end), end, true
}

// scanValue reads the value of an item, after its =.
func (p *parser) scanValue(it item, at int) (_ item, end int, ok bool) {
	line := p.Text
	if next := lex.SkipBlanks(line, at); next > at && next < len(line) && !strings.Contains(line[next:lex.WordEnd(line, next)], "=") {
		return p.badItem(it, lex.WordEnd(line, next), "no blank is allowed before or after =")
	}
	if at == len(line) || line[at] != '"' && line[at] != '\'' {
		end = lex.WordEnd(line, at)
		it.Value = line[at:end]
		return finishItem(it, end), end, true
	}
	length := strings.IndexByte(line[at+1:], line[at])
	if length < 0 {
		return p.badItem(it, len(line), "the quoted value is not closed")
	}
	end = at + length + 2
	if end < len(line) && !lex.IsBlank(line[end]) {
		return p.badItem(it, lex.WordEnd(line, end), "text follows the closing quote")
	}
	it.Value, it.quoted = line[at+1:end-1], true
	return finishItem(it, end), end, true
}

// valueEnd returns the end of the word at byte at, or of the next word.
func valueEnd(line string, at int) int { return lex.WordEnd(line, lex.SkipBlanks(line, at)) }

// finishItem sets the length of an item that ends at byte end, replaces aliases
// and looks up the option.
func finishItem(it item, end int) item {
	it.Length = end - (it.Column - 1)
	it.Key, it.Value = option.Unalias(it.Key, it.Value)
	it.spec = option.Find(it.Key)
	return it
}

func (p *parser) badItem(it item, end int, why string) (item, int, bool) {
	it = finishItem(it, end)
	p.refuse(&it, "B406", why, "write `key=value`, or `key=\"a value\"`")
	return it, end, false
}

// judge checks an item once, when it is read. above is the other items of the
// entry so far.
func (p *parser) judge(it *item, above []item) {
	spec := it.spec
	switch {
	case find(above, it.Key) != nil:
		p.refuse(it, "B405", it.Key+"= is set twice for one entry", "delete one of them")
	case strings.HasPrefix(it.Key, "x-"):
	case spec == nil:
		p.refuse(it, "B403", "unknown option "+diagnostic.Quote(it.Key), p.keyFix(it))
	case it.bare && !spec.IsAnswer():
		p.refuse(it, "B404", it.Key+" requires a value", it.Key+" accepts "+spec.Values)
	case spec.Built():
		switch err := p.newPlan().Set(spec, it.Value); {
		case errors.Is(err, option.ErrLater):
			p.refuse(it, "B408", it.Key+"="+it.Value+" is not implemented in this version", "delete `"+it.Key+"` if the entry may run without it")
		case err != nil:
			p.refuse(it, "B404", it.Key+": "+err.Error(), valueFix(it))
		}
	case spec.Check(it.Value) != nil:
		p.refuse(it, "B404", it.Key+": "+spec.Check(it.Value).Error(), valueFix(it))
	case spec.Same != "" && it.Value == spec.Same:
	case spec.Guard:
		p.refuse(it, "B408", it.Key+" is not implemented in this version", cmp.Or(spec.Instead, "delete `"+it.Key+"` if the entry may run without it"))
	default:
		p.refuse(it, "B407", it.Key+" is not implemented in this version", it.written("?"+it.Key, it.Value)+" to ignore it in such versions")
	}
}

// refuse adds a diagnostic about an item. The item is ignored if it is marked
// with ?. Otherwise the entry is held if the item is a guard, and runs without
// the item if not.
func (p *parser) refuse(it *item, code diagnostic.Code, why, fix string) {
	switch {
	case it.Maybe && code != "B406":
		it.off = true
		p.reportItem(it, "B412", why+": it is ignored, because it is marked with ?", "")
	case it.spec != nil && it.spec.Guard:
		it.held = sentence(it, why)
		p.reportItem(it, code, why+": the entry is held", fix)
	default:
		it.degraded = sentence(it, why)
		p.reportItem(it, code, why+": the entry runs without it", fix)
	}
}

// sentence returns the reason for a held or degraded entry, with the option.
func sentence(it *item, why string) string {
	return fmt.Sprintf("The option %s in %s is invalid: %s.", it.Key, it.where(), why)
}

// where returns the position of an item, as text.
func (it *item) where() string {
	if it.File != "" {
		return fmt.Sprintf("%s:%d", it.File, it.Line)
	}
	return fmt.Sprintf("line %d", it.Line)
}

// reportItem adds a diagnostic at the position of an item, which may be in an
// earlier line. For an item of the sidecar it uses the position of the entry.
func (p *parser) reportItem(it *item, code diagnostic.Code, message, fix string) {
	if it.File != "" {
		if it.File != p.Name {
			message = it.where() + ": " + message
		}
		p.ReportLine(p.Number, code, message, fix)
		return
	}
	p.Add(diagnostic.Diagnostic{
		Line: it.Line, Column: it.Column, Length: it.Length,
		Code: code, Severity: code.Severity(), Message: message, Fix: fix,
	})
}
