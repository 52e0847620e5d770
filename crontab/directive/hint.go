package directive

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

// LintComment warns about a comment that was probably meant as a line of
// options: #@key=value without a blank, or # @ key=value. at is that of the #.
func (r *Reader) LintComment(at int) {
	text := strings.Trim(r.Text[at+1:], lex.Blanks)
	if text == "" || text[0] != '@' {
		return
	}
	text = strings.TrimLeft(text[1:], lex.Blanks)
	if key, _, ok := strings.Cut(text, "="); ok && option.IsKey(key) {
		r.Report(at, len(r.Text)-at, "B421", "the line is a comment: a line of options begins with `#@` and a blank", "write `#@ "+text+"`")
	}
}

// LintProse reports a line that begins with #@ but not with an option, which
// begins at byte at. Two words or more are probably for people.
func (r *Reader) LintProse(at int) {
	text := strings.Trim(r.Text[at:], lex.Blanks)
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
		r.Report(at, len(text), "B401", "the line begins with #@ but has no option: it is a comment", "write `#` without @")
		return
	}
	r.Report(at, len(text), "B421", diagnostic.Quote(words[0])+" is not an option: the line is a comment", fix)
}

// habit returns the item to write instead of word=value, or "".
func habit(word, value string) string {
	item := habits[word]
	if strings.HasSuffix(item, "=") {
		item += value
	}
	return item
}

// refuseStray refuses an item that follows the value of another one, before it,
// and returns the end of the words that belong to it. An option that is a guard
// holds the entry, because its value is incomplete. first is the index of the
// diagnostics about the option.
func (r *Reader) refuseStray(it, before *Item, first int) (end int) {
	start := it.Column - 1
	end = start + it.Length
	for next := lex.SkipBlanks(r.Text, end); next < len(r.Text); next = lex.SkipBlanks(r.Text, end) {
		word := r.Text[next:lex.WordEnd(r.Text, next)]
		if word == "--" || strings.ContainsRune(word, '=') || option.IsKey(strings.TrimPrefix(word, "?")) {
			break
		}
		end = next + len(word)
	}
	it.Key, it.Length, it.Spec = r.Text[start:end], end-start, before.Spec
	if !before.Effective() {
		r.Diagnostics = r.Diagnostics[:first]
	}
	r.Refuse(it, "B406", "the value of "+before.Key+"= ends before "+diagnostic.Quote(it.Key)+", which is not an option", r.quoteFix(before, it.Key))
	return end
}

// quoteFix returns the option before with a value that includes rest.
func (r *Reader) quoteFix(before *Item, rest string) string {
	valid := func(value string) bool {
		return before.Spec != nil && r.newPlan().Set(before.Spec, value) == nil
	}
	if value := before.Value + " " + rest; before.Spec == nil || valid(value) {
		return "quote the value: " + before.Written(before.Key, value)
	}
	for _, joint := range []string{"-", ""} {
		if value := strings.ReplaceAll(before.Value+" "+rest, " ", joint); valid(value) {
			return "quote the value if it has blanks; " + before.Key + "= accepts none: " + before.Written(before.Key, value)
		}
	}
	return "quote the value if it has blanks; " + before.Key + " accepts " + before.Spec.Values
}

func (r *Reader) keyFix(it *Item) string {
	if item := habit(it.Key, it.Value); item != "" {
		return "write `" + item + "`"
	}
	if key := option.NearestKey(it.Key); key != "" && !it.bare {
		return it.Written(key, it.Value)
	}
	return "see `cronring options`; keys of other programs begin with x-"
}

// valueFix returns the value that was probably meant, or the valid values.
func valueFix(it *Item) string {
	accepts := it.Key + " accepts " + it.Spec.Values
	if value := it.Spec.Meant(it.Value); value != "" {
		return it.Written(it.Key, value) + "; " + accepts
	}
	return accepts
}

// IsProse reports whether the first word of a directive line is neither a key nor
// contains =, so that the line is an ordinary comment.
func IsProse(word string) bool {
	if word == "--" || strings.ContainsRune(word, '=') {
		return false
	}
	word = strings.TrimPrefix(word, "?")
	return !option.IsKey(word) && !strings.HasPrefix(word, "x-")
}

// LintOptions warns about options after the command, which begins at byte at.
// They are part of the command in every cron, and a comment for the shell.
func (r *Reader) LintOptions(at int) {
	command := r.Text[at:]
	i := strings.LastIndex(command, "#@")
	if i < 1 || !lex.IsBlank(command[i-1]) || strings.Count(command[:i], `"`)%2 > 0 || strings.Count(command[:i], "'")%2 > 0 {
		return
	}
	options := strings.Trim(command[i+2:], lex.Blanks)
	if options == "" || options == command[i+2:] || IsProse(options[:lex.WordEnd(options, 0)]) {
		return
	}
	r.Report(at+i, len(command)-i, "B420", "options after a command are part of it, and have no effect", "write `#@ "+options+"` on a line of its own directly above the entry")
}
