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
	x := b.inOrder()
	containing := make([][]bool, len(terms))
	met = make([]bool, len(terms))
	for i := range terms {
		if t := &terms[i]; t.isText() && !t.similar {
			containing[i] = x.containing(t.text)
			met[i] = slices.Contains(containing[i], true)
		}
	}
	for k, l := range x.lines {
		all := len(states) == 0 || isIn(l.row, states)
		for i := 0; all && i < len(terms); i++ {
			t := &terms[i]
			if containing[i] != nil {
				all = containing[i][k] != t.not
			} else {
				all = b.meets(t, x, k) != t.not
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

// meets reports whether job k meets a condition that is not on any text, apart from a "!".
func (b *Board) meets(t *term, x *index, k int) bool {
	l := x.lines[k]
	switch {
	case t.expr != nil:
		return t.found[l]
	case t.similar:
		return find.Resembles(t.text, b.jobName(x.name(k)))
	}
	switch t.field {
	case "state":
		return isIn(l.row, t.states)
	case "took":
		return l.row.Took > 0 && t.compares(int64(l.row.Took))
	case "fails":
		return t.compares(int64(l.row.Streak))
	case "job":
		return strings.Contains(b.jobName(x.name(k)), t.text)
	}
	return strings.Contains(strings.ToLower(t.textOf(l.row)), t.text)
}
