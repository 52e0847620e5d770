package board

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/find"
)

// matches marks the jobs in one of some states that meet all conditions.
func (b *Board) matches(terms []term, states []job.State) []bool {
	found := make([]bool, len(b.cells))
	wanted, paused := wantedStates(states), slices.Contains(states, job.StatePaused)
	for s := range found {
		c := &b.cells[s]
		found[s] = c.state != gone && (wanted[c.state] || paused && c.paused)
	}
	for i := range terms {
		t := &terms[i]
		meets := b.meets(t)
		for s := range found {
			found[s] = found[s] && meets[s] != t.not
		}
	}
	return found
}

func wantedStates(states []job.State) (wanted [len(job.States)]bool) {
	for i, s := range job.States {
		wanted[i] = len(states) == 0 || slices.Contains(states, s)
	}
	return wanted
}

// meets marks the cells that a condition holds for.
func (b *Board) meets(t *term) []bool {
	if t.expr != nil {
		return append(t.meets, make([]bool, len(b.cells)-len(t.meets))...)
	}
	test := b.testOf(t)
	meets, some := make([]bool, len(b.cells)), false
	for s := range meets {
		c := &b.cells[s]
		meets[s] = c.state != gone && test(c)
		some = some || meets[s]
	}
	if t.similar = t.field == "" && !t.not && !some; t.similar {
		for s := range meets { // nothing contains the text: what is like it?
			c := &b.cells[s]
			meets[s] = c.state != gone && find.Resembles(t.text, b.jobName(c))
		}
	}
	return meets
}

// testOf returns the test of a condition. Texts that jobs share are tested once each.
func (b *Board) testOf(t *term) func(c *cell) bool {
	switch t.field {
	case "state":
		wanted, paused := wantedStates(t.states), slices.Contains(t.states, job.StatePaused)
		return func(c *cell) bool { return wanted[c.state] || paused && c.paused }
	case "took":
		return func(c *cell) bool { return c.took > 0 && t.compares(c.took) }
	case "fails":
		return func(c *cell) bool { return t.compares(int64(c.streak)) }
	case "job":
		return func(c *cell) bool { return strings.Contains(b.jobName(c), t.text) }
	case "command":
		return func(c *cell) bool { return strings.Contains(c.lower()[len(c.lowerName()):], t.text) }
	}
	hold := b.words.holding(t)
	if text, ok := sharedFields[t.field]; ok {
		return func(c *cell) bool { return hold[c.words[text]] }
	}
	return func(c *cell) bool {
		shared := c.shared()
		return slices.ContainsFunc(shared[:], func(w word) bool { return hold[w] }) || strings.Contains(c.lower(), t.text)
	}
}

// inText reports whether a text, which is also given in lower case, meets the condition.
func (t *term) inText(text, lower string) bool {
	if t.expr == nil {
		return strings.Contains(lower, t.text)
	}
	if !t.exact {
		text = lower
	}
	return strings.Contains(text, t.literal) && t.expr.MatchString(text)
}
