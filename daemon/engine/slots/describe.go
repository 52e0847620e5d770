package slots

import (
	"fmt"
	"strings"
	"time"
)

// Describe describes what the run of a claim waits for, and which runs are in the way.
// Users other than root do not see the names of other users' jobs.
func (q *Queue) Describe(c *Claim, now time.Duration) string {
	u := q.users[c.User]
	switch x := c.pool; {
	case !q.hasSlot():
		return fmt.Sprintf("%d of %d slots of the host are taken, %d by %s", q.running, q.Limits.MaxRunning, len(u.holders), c.User)
	case q.isFull(u):
		return fmt.Sprintf("%d of %d slots of %s are taken%s", len(u.holders), q.Limits.PerUser(c.User), c.User, takers(u.holders, c.User))
	case x == nil:
		return "others come first"
	case x.taken+c.Slots > x.Size:
		asks := ""
		if c.Slots > 1 {
			asks = fmt.Sprintf(", and it asks for %d", c.Slots)
		}
		return fmt.Sprintf("pool %s: %d of %d slots are taken%s%s", x.name, x.taken, x.Size, takers(x.holders, c.User), asks)
	case x.until > now:
		return fmt.Sprintf("pool %s: %d starts in %s are all that its rate allows, the next in %s", x.name, x.Rate, x.Per, x.until-now)
	default:
		return fmt.Sprintf("pool %s: others come first", x.name)
	}
}

// takers lists the runs that hold slots, as far as a user may see them.
func takers(holders []*Claim, user string) string {
	const few = 3
	var names []string
	for _, h := range holders {
		if len(names) < few && (h.User == user || user == "root") {
			names = append(names, fmt.Sprintf("run %d (%s)", h.Run, h.Job))
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
