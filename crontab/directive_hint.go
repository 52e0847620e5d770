package crontab

import (
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// habits are words that people use for an option of another name, and what to
// write instead. An item of the map that ends with = takes any value.
var habits = map[string]string{
	"no-overlap": "overlap=skip", "nooverlap": "overlap=skip", "singleton": "overlap=skip",
	"lock": "overlap=skip", "flock": "overlap=skip", "skip": "overlap=skip", "queue": "overlap=queue",
	"once": "catchup=once", "persistent": "catchup=once", "anacron": "catchup=once",
	"disabled": "enabled=no", "off": "enabled=no", "manual": "trigger=manual",
	"timezone": "tz=", "zone": "tz=", "retries": "retry=", "max-retries": "retry=",
	"interval": "every=", "random-delay": "jitter=",
}

// lintComment warns about a comment that was probably meant as a line of
// options: #@key=value without a blank, or # @ key=value. at is that of the #.
func (p *parser) lintComment(at int) {
	text := strings.Trim(p.Text[at+1:], lex.Blanks)
	if text == "" || text[0] != '@' {
		return
	}
	text = strings.TrimLeft(text[1:], lex.Blanks)
	if key, _, ok := strings.Cut(text, "="); ok && option.IsKey(key) {
		p.Report(at, len(p.Text)-at, "B421", "the line is a comment: a line of options begins with `#@` and a blank", "write `#@ "+text+"`")
	}
}

// lintProse reports a line that begins with #@ but not with an option, which
// begins at byte at. Two words or more are probably for people.
func (p *parser) lintProse(at int) {
	text := strings.Trim(p.Text[at:], lex.Blanks)
	words := lex.Words(text)
	key, value, ok := strings.Cut(words[0], ":")
	fix := ""
	switch {
	case ok && option.IsKey(key) && value == "" && len(words) > 1:
		fix = "write `#@ " + key + "=" + words[1] + "`"
	case ok && option.IsKey(key):
		fix = "write `#@ " + key + "=" + value + "`"
	case habit(words[0], "VALUE") != "":
		fix = "write `#@ " + habit(words[0], "VALUE") + "`"
	case len(words) == 1:
		fix = "write `key=value`, or `#` without @ for a comment; `cronring options` lists the options"
	default:
		p.Report(at, len(text), "B401", "the line begins with #@ but has no option: it is a comment", "write `#` without @")
		return
	}
	p.Report(at, len(text), "B421", diagnostic.Quote(words[0])+" is not an option: the line is a comment", fix)
}

// habit returns the item to write instead of word=value, or "".
func habit(word, value string) string {
	item := habits[word]
	if strings.HasSuffix(item, "=") {
		item += value
	}
	return item
}

// isStray reports whether an item is a word without = that is not an option. It
// is often the rest of an unquoted value.
func (it *item) isStray() bool { return it.bare && it.spec == nil && !strings.HasPrefix(it.Key, "x-") }

// takesRest reports whether the words after the item, in the line with number,
// may be the rest of its value.
func (it *item) takesRest(number int) bool { return it.Line == number && !it.bare && !it.quoted }

// refuseStray refuses an item that follows the value of another one, before it,
// and returns the end of the words that belong to it. An option that is a guard
// holds the entry, because its value is incomplete. first is the index of the
// diagnostics about the option.
func (p *parser) refuseStray(it, before *item, first int) (end int) {
	start := it.Column - 1
	end = start + it.Length
	for next := lex.SkipBlanks(p.Text, end); next < len(p.Text); next = lex.SkipBlanks(p.Text, end) {
		word := p.Text[next:lex.WordEnd(p.Text, next)]
		if word == "--" || strings.ContainsRune(word, '=') || option.IsKey(strings.TrimPrefix(word, "?")) {
			break
		}
		end = next + len(word)
	}
	it.Key, it.Length, it.spec = p.Text[start:end], end-start, before.spec
	if !before.effective() {
		p.Diagnostics = p.Diagnostics[:first]
	}
	p.refuse(it, "B406", "the value of "+before.Key+"= ends before "+diagnostic.Quote(it.Key)+", which is not an option", p.quoteFix(before, it.Key))
	return end
}

// quoteFix returns the option before with a value that includes rest.
func (p *parser) quoteFix(before *item, rest string) string {
	valid := func(value string) bool {
		return before.spec != nil && before.spec.Built() && p.newPlan().Set(before.spec, value) == nil
	}
	if value := before.Value + " " + rest; before.spec == nil || valid(value) {
		return "quote the value: " + before.written(before.Key, value)
	}
	for _, joint := range []string{"-", ""} {
		if value := strings.ReplaceAll(before.Value+" "+rest, " ", joint); valid(value) {
			return "quote the value if it has blanks; " + before.Key + "= accepts none: " + before.written(before.Key, value)
		}
	}
	return "quote the value if it has blanks; " + before.Key + " accepts " + before.spec.Values
}

func (p *parser) keyFix(it *item) string {
	if item := habit(it.Key, it.Value); item != "" {
		return "write `" + item + "`"
	}
	if key := option.NearestKey(it.Key); key != "" && !it.bare {
		return it.written(key, it.Value)
	}
	return "see `cronring options`; keys of other programs begin with x-"
}

// valueFix returns the value that was probably meant, or the valid values.
func valueFix(it *item) string {
	accepts := it.Key + " accepts " + it.spec.Values
	if value := it.spec.Meant(it.Value); value != "" {
		return it.written(it.Key, value) + "; " + accepts
	}
	return accepts
}

// written returns a fix that replaces the key and value of the item.
func (it *item) written(key, value string) string {
	if it.File != "" {
		if strings.HasPrefix(key, "?") {
			key = `"` + key + `"` // TOML does not allow ? in a bare key
		}
		return "write `" + key + " = \"" + value + "\"`"
	}
	quotes := ""
	if strings.ContainsAny(value, lex.Blanks) {
		quotes = `"`
		if strings.Contains(value, quotes) {
			quotes = "'"
		}
	}
	return "write `" + key + "=" + quotes + value + quotes + "`"
}
