package board

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/find"
)

// matches appends the jobs in one of some states that meet all conditions, in order of name. If no
// job contains the text of a condition, jobs with a similar name meet it.
func (b *Board) matches(to []*line, terms []term, states []job.State) []*line {
	for i := range terms {
		terms[i].similar = false
	}
	found, met := b.choose(to, terms, states)
	again := false
	for i := range terms {
		if t := &terms[i]; t.isText() && !t.not && !met[i] {
			t.similar, again = true, true
		}
	}
	if again {
		found, _ = b.choose(to, terms, states)
	}
	return found
}

// choose is matches without similar names. It also reports which conditions on a text are met by a job.
func (b *Board) choose(to []*line, terms []term, states []job.State) (found []*line, met []bool) {
	met = make([]bool, len(terms))
	for _, l := range b.inOrder() {
		all := len(states) == 0 || isIn(l.row, states)
		for i := range terms {
			if t := &terms[i]; all || t.isText() && !met[i] {
				meets := b.meets(t, l)
				all, met[i] = all && meets != t.not, met[i] || meets
			}
		}
		if all {
			to = append(to, l)
		}
	}
	return to, met
}

// isText reports whether any text of a job can meet the condition.
func (t *term) isText() bool { return t.field == "" && t.expr == nil }

// isIn reports whether a job is in one of some states. It may be paused and in another state as well.
func isIn(r *api.Row, states []job.State) bool {
	return slices.Contains(states, r.State) || r.Paused && slices.Contains(states, job.StatePaused)
}

// meets reports whether a job meets a condition, apart from a "!".
func (b *Board) meets(t *term, l *line) bool {
	switch {
	case t.expr != nil:
		return t.found[l]
	case t.similar:
		return find.Resembles(t.text, b.jobName(l))
	}
	switch t.field {
	case "":
		return t.anywhere(l)
	case "state":
		return isIn(l.row, t.states)
	case "took":
		return l.row.Took > 0 && t.compares(int64(l.row.Took))
	case "fails":
		return t.compares(int64(l.row.Streak))
	case "job":
		return strings.Contains(b.jobName(l), t.text)
	}
	return strings.Contains(strings.ToLower(t.textOf(l.row)), t.text)
}

// anywhere reports whether a text of a job meets the condition.
func (t *term) anywhere(l *line) bool {
	if t.exact {
		return t.in(join(l.row))
	}
	return t.in(l.text)
}

// in reports whether a text, in lower case unless the condition is exact, meets the condition.
func (t *term) in(text string) bool {
	if t.expr == nil {
		return strings.Contains(text, t.text)
	}
	return strings.Contains(text, t.literal) && t.expr.MatchString(text)
}
