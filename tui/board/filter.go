package board

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/job"
)

// matches marks the jobs that hold a text in their name, their command, or one of the texts that
// jobs share.
func (b *Board) matches(text string, states []job.State) []bool {
	text = strings.ToLower(text)
	hold := b.words.holding(text)
	found := make([]bool, len(b.cells))
	wanted, paused := wantedStates(states), slices.Contains(states, job.MarkPaused)
	for s := range found {
		c := &b.cells[s]
		if c.state == gone || !wanted[c.state] && !(paused && c.paused) {
			continue
		}
		found[s] = hold[c.schedule] || hold[c.user] || hold[c.table] || hold[c.labels] || strings.Contains(c.lower, text)
	}
	return found
}

func wantedStates(states []job.State) (wanted [len(job.States)]bool) {
	for i, s := range job.States {
		wanted[i] = len(states) == 0 || slices.Contains(states, s)
	}
	return wanted
}
