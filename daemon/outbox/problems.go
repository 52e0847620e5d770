package outbox

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/display"
)

// Problem is a standing problem: what, why, and what to do about it.
type Problem struct {
	What, Why, Fix string
	User           string // whose it is, see api.Problem
}

// state contains the facts that Problems reports.
type state struct {
	disk         error // why the queue is not written
	since        time.Time
	retry        time.Time // of the disk, if it failed
	reportedFull time.Time
	refused      int    // messages that did not fit in the queue
	lost         int    // messages that were neither delivered nor stored
	dead         int    // undeliverable messages, which are kept
	gaveUp       string // the last of them: lane and why
}

func (s *state) note(err error) {
	if err == nil || s.disk == nil {
		s.since = time.Now()
	}
	s.disk, s.retry = err, time.Now().Add(diskRetry)
}

// Problems returns the problems with the queue, for the status. Lanes reports those of lanes.
func (b *Outbox) Problems() (all []Problem) {
	b.mu.Lock()
	s, noun := b.state, b.options.Noun
	b.mu.Unlock()
	add := func(what, why, fix string) { all = append(all, Problem{what, why, fix, "root"}) }
	if s.dead > 0 {
		add(Count(s.dead, noun, "was", "were")+" given up", cmp.Or(s.gaveUp, "the log has the reason"),
			"look at "+b.dir.DeadPattern()+", and remove them when they are dealt with")
	}
	if s.disk != nil {
		add(noun+"s are not kept on disk since "+Stamp(s.since)+"; they are sent at once or lost", s.disk.Error(), "make room on the disk of "+b.options.Dir)
	}
	if s.refused+s.lost > 0 {
		add(Count(s.refused+s.lost, noun, "was", "were")+" lost since the daemon started",
			fmt.Sprintf("%d for lack of room in the queue, %d because neither a recipient nor the disk accepted them", s.refused, s.lost),
			"find out why jobs send this many, or why they are not accepted")
	}
	return all
}

// Count returns a number of things in words, with the verb in the singular or in the plural.
func Count(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return display.Count(n, noun) + " " + many
}

// Stamp returns a time as problems show it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
