package notify

import (
	"maps"
	"slices"

	"github.com/cronring/cronring/daemon/outbox"
)

// maxUnknown bounds the names of channels that are remembered.
const maxUnknown = 20

// Problems returns the problems with channels, for the status.
func (n *Notifier) Problems() (all []outbox.Problem) {
	add := func(what, why, fix string) {
		all = append(all, outbox.Problem{What: what, Why: why, Fix: fix, User: "root"})
	}
	for _, l := range n.Lanes() {
		if l.Why != "" && !isPingLane(l.Name) { // those are the user's, and in the log
			add("channel "+l.Name+": "+outbox.Count(l.Waiting, "notice", "waits", "wait")+" to be sent", l.Why, "cronring config notify "+l.Name)
		}
	}
	n.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(n.unknown)) {
		add(outbox.Count(n.unknown[name], "notice", "went", "went")+" nowhere: there is no channel "+name, "the configuration does not name it",
			"name it there as [channel."+name+"], or take it out of notify= in the crontabs")
	}
	n.mu.Unlock()
	return append(all, n.Outbox.Problems()...)
}
