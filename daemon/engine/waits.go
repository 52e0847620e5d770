package engine

import (
	"fmt"
	"strings"
)

// describeQueue describes what a run waits for, and which runs are in the way. Users other than
// root do not see the names of other users' jobs.
func (e *Engine) describeQueue(r *run) string {
	p, c := &e.places, r.claim
	a := p.accounts[r.User]
	switch x := c.pool; {
	case !p.roomy():
		return fmt.Sprintf("%d of %d places of the host are taken, %d by %s", p.running, p.limits.MaxRunning, len(a.holders), r.User)
	case p.isFull(a):
		return fmt.Sprintf("%d of %d places of %s are taken%s", len(a.holders), p.limits.PerUser(r.User), r.User, takers(a.holders, r.User))
	case x == nil:
		return "others come first"
	case x.taken+c.slots > x.Size:
		asks := ""
		if c.slots > 1 {
			asks = fmt.Sprintf(", and it asks for %d", c.slots)
		}
		return fmt.Sprintf("pool %s: %d of %d slots are taken%s%s", x.name, x.taken, x.Size, takers(x.holders, r.User), asks)
	case x.until > e.now.Up:
		return fmt.Sprintf("pool %s: %d starts in %s are all that its rate allows, the next in %s", x.name, x.Rate, x.Per, x.until-e.now.Up)
	default:
		return fmt.Sprintf("pool %s: others come first", x.name)
	}
}

// takers lists the runs that hold slots, as far as a user may see them.
func takers(holders []*run, user string) string {
	const few = 3
	var names []string
	for _, h := range holders {
		if len(names) < few && (h.User == user || user == "root") {
			names = append(names, fmt.Sprintf("run %d (%s)", h.ID, h.Job))
		}
	}
	if more := len(holders) - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	} else if more > 0 {
		names = append(names, "runs of other users")
	}
	if len(names) == 0 {
		return ""
	}
	return " by " + strings.Join(names, ", ")
}
