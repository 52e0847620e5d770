package notify

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// state is what Problems reports, in addition to the lanes.
type state struct {
	disk     error // why the queue is not written
	saidFull time.Time
	refused  int            // messages that did not fit in the queue
	lost     int            // messages that were given up and not stored
	dead     int            // messages that were given up and stored
	gaveUp   string         // of the last of them: channel and why
	unknown  map[string]int // notices for channels that there are not
}

// maxUnknown bounds the names of channels that are remembered.
const maxUnknown = 20

// Problem is one standing trouble: what, why, and what to do about it.
type Problem struct{ What, Why, Fix string }

// Problems returns the problems with channels, for the status.
func (n *Notifier) Problems() []Problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Problem
	add := func(what, why, fix string) { all = append(all, Problem{what, why, fix}) }
	for _, name := range slices.Sorted(maps.Keys(n.lanes)) {
		if l := n.lanes[name]; l.why != "" {
			add(fmt.Sprintf("channel %s: %s", name, notices(len(l.items), "waits", "wait")+" to be sent"), l.why, "cronring config notify "+name)
		}
	}
	s := &n.state
	for _, name := range slices.Sorted(maps.Keys(s.unknown)) {
		add(notices(s.unknown[name], "went", "went")+" nowhere: there is no channel "+name, "the configuration does not name it",
			"name it there as [channel."+name+"], or take it out of notify= in the crontabs")
	}
	if s.dead > 0 {
		add(notices(s.dead, "was", "were")+" given up", s.gaveUp, "look at "+n.dir.DeadPattern()+", and remove them when they are dealt with")
	}
	if s.refused+s.lost > 0 {
		add(notices(s.refused+s.lost, "was", "were")+" lost since the daemon started",
			fmt.Sprintf("%d for lack of room in the queue, %d because no channel accepted them", s.refused, s.lost), "find out why jobs send this many notifications, or why channels reject them")
	}
	if s.disk != nil {
		add("notices are not kept on disk; they are sent all the same", s.disk.Error(), "make room on the disk of "+n.options.Dir)
	}
	return all
}

func notices(count int, one, many string) string {
	if count == 1 {
		return "1 notice " + one
	}
	return fmt.Sprintf("%d notices %s", count, many)
}
