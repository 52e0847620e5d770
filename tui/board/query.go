package board

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// term is one condition of a filter.
type term struct {
	not     bool
	field   string // empty: any text of the job
	text    string // that the field contains, in lower case
	expr    *regexp.Regexp
	literal string                  // text that every match of expr contains
	textOf  func(r *api.Row) string // of a field in fields
	found   map[*line]bool          // jobs that expr matches; nil: they were not searched yet
	version uint64                  // of the texts that were searched
	exact   bool                    // expr distinguishes upper and lower case
	similar bool                    // no job contains text: those with a similar name were listed
	states  []job.State
	op      string // of a number: <, >, <= or >=
	number  int64
}

// textFields are the fields of a filter that contain a text, numberFields those that are compared.
var (
	textFields   = append([]string{"job"}, slices.Sorted(maps.Keys(fields))...)
	numberFields = []string{"took", "fails"}
)

// fieldNames are all fields; state has a list of states.
var fieldNames = append(append([]string{"state"}, textFields...), numberFields...)

// parseFilter parses a filter: conditions separated by blanks, all of which must hold. A condition
// without a value is always true, because the user may still be typing it. With an error, parseFilter
// returns the conditions before it.
func parseFilter(text string) ([]term, error) {
	var terms []term
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" {
			return terms, nil
		}
		var t term
		if rest, ok := strings.CutPrefix(text, "!"); ok {
			t.not, text = true, rest
		}
		var word string
		var isExpr bool
		if word, text, isExpr = cutExpr(text); isExpr {
			if err := t.compile(word); err != nil {
				return terms, err
			}
		} else {
			var quoted bool
			word, quoted, text = cutWord(text)
			if err := t.parse(word, quoted); err != nil {
				return terms, err
			}
		}
		if t.text != "" || t.expr != nil || t.op != "" || len(t.states) > 0 {
			terms = append(terms, t)
		}
	}
}

// cutExpr cuts a regular expression between slashes off the beginning of a text. A slash without a
// second one begins a path.
func cutExpr(text string) (expr, rest string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch end := i+1 == len(text) || text[i+1] == ' '; {
		case text[i] == '\\':
			i++
		case text[i] == '/' && end && i > 1:
			return text[1:i], text[i+1:], true
		}
	}
	return "", text, false
}

// cutWord cuts a word off the beginning of a text. Blanks between quotes belong to it.
func cutWord(text string) (word string, quoted bool, rest string) {
	var b strings.Builder
	inside := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			inside, quoted = !inside, quoted || i == 0
		case c == ' ' && !inside:
			return b.String(), quoted, text[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), quoted, ""
}

// parse parses a word, such as user:www, took>5m, or a text.
func (t *term) parse(word string, quoted bool) error {
	at := strings.IndexAny(word, ":<>")
	if at <= 0 || quoted {
		t.text = strings.ToLower(word)
		return nil
	}
	name, op, value := strings.ToLower(word[:at]), word[at:at+1], word[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok && op != ":" {
		op, value = op+"=", rest
	}
	switch {
	case op == ":" && name == "state":
		return t.parseStates(value)
	case op == ":" && slices.Contains(textFields, name):
		t.field, t.text, t.textOf = name, strings.ToLower(value), fields[name]
	case op != ":" && slices.Contains(numberFields, name):
		t.field, t.op = name, op
		return t.parseNumber(value)
	case slices.Contains(numberFields, name):
		return fmt.Errorf("%s is compared: %s>%s", name, name, map[string]string{"took": "5m", "fails": "2"}[name])
	case slices.Contains(fieldNames, name):
		return fmt.Errorf("%s contains a text: %s:TEXT", name, name)
	default:
		if near := diagnostic.Nearest(name, fieldNames); near != "" && len(name) > 2 {
			return fmt.Errorf("no field is called %s: did you mean %s?", name, near)
		}
		t.text = strings.ToLower(word)
	}
	return nil
}

// parseStates parses states separated by commas. The beginning of a state is enough.
func (t *term) parseStates(value string) error {
	if value == "" {
		return nil
	}
	for word := range strings.SplitSeq(strings.ToLower(value), ",") {
		n := len(t.states)
		for _, state := range job.States {
			if strings.HasPrefix(string(state), word) {
				t.states = append(t.states, state)
			}
		}
		if len(t.states) == n {
			names := make([]string, len(job.States))
			for i, state := range job.States {
				names[i] = string(state)
			}
			return fmt.Errorf("invalid state %s: expected %s", word, strings.Join(names, ", "))
		}
	}
	t.field = "state"
	return nil
}

func (t *term) parseNumber(value string) error {
	if t.field == "took" {
		d, err := option.ParseDuration(value)
		t.number = int64(d)
		if err != nil {
			return fmt.Errorf("took%s: expected a time such as 5m", t.op)
		}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	t.number = n
	if err != nil {
		return fmt.Errorf("%s%s: expected a number such as 2", t.field, t.op)
	}
	return nil
}

// compile compiles a regular expression. Without a capital letter it ignores case.
func (t *term) compile(text string) error {
	t.exact = strings.ToLower(text) != text
	expr, err := regexp.Compile("(?m)" + text)
	if err != nil {
		why := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			why = e.Code.String()
		}
		return fmt.Errorf("invalid /%s/: %s", text, why)
	}
	t.expr = expr
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		t.literal = literalOf(tree)
	}
	return nil
}

// literalOf returns the longest text that every match of an expression contains. Searching for it
// first is much faster.
func literalOf(tree *syntax.Regexp) (longest string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range tree.Sub {
			if text := literalOf(sub); len(text) > len(longest) {
				longest = text
			}
		}
	}
	return longest
}

// compares reports whether a number meets the condition.
func (t *term) compares(number int64) bool {
	switch t.op {
	case "<":
		return number < t.number
	case "<=":
		return number <= t.number
	case ">":
		return number > t.number
	}
	return number >= t.number
}
