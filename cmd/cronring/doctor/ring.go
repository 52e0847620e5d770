package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/ring"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
)

// checkRing looks at the ring of the host's configuration, and at that of the daemon.
// What the daemon itself finds wrong with it is among the problems of its status.
func checkRing(ctx context.Context, e *examination) []finding {
	var live api.Ring
	if e.answers() {
		live, _ = e.askRing(ctx) // a daemon that answers one question and not another is the first check's
	}
	c := config.Config{}
	if e.socket == api.SystemSocket { // else the daemon has another configuration
		c = config.Read(e.Path(config.Dir))
	}
	if c.Ring.Name == "" && live.Name == "" {
		return []finding{{Grade: gradeOK, What: "this host is in no ring"}}
	}
	var found []finding
	for _, d := range ring.Faults(ctx, &c, &live) {
		worth := gradeWarning
		if d.Severity == crontab.Error {
			worth = gradeProblem
		}
		found = append(found, finding{Grade: worth, What: d.Message, Fix: maybe(d.Fix)})
	}
	if e.answers() && live.Name != c.Ring.Name && c.Ring.Name != "" {
		found = append(found, finding{Grade: gradeProblem, What: fmt.Sprintf("the daemon does not take part in the ring %q of the configuration", c.Ring.Name),
			Why: "it reads [ring] when it starts", Fix: advice("systemctl restart cronring")})
	}
	if unseen := unseenVoters(&live); len(unseen) > 0 {
		found = append(found, finding{Grade: gradeProblem, What: "no member is known that is the voter " + strings.Join(unseen, " or "),
			Why: "ring jobs wait until each voter was seen once: it is named by the address that cronring ring shows, or by ID"})
	}
	if t, err := e.adjtimex(); err == nil && t.Status&unix.STA_UNSYNC != 0 {
		found = append(found, finding{Grade: gradeWarning, What: "the clock of this member is not synchronised",
			Why: "a member whose clock is more than 5 seconds off runs no ring jobs", Fix: advice("timedatectl set-ntp true    or install chrony")})
	}
	if found == nil && live.Name != "" {
		found = []finding{{Grade: gradeOK, What: fmt.Sprintf("in the ring %q: %d of %s up", live.Name, live.Up(), display.Count(len(live.Members), "member"))}}
	}
	return found
}

// unseenVoters returns the voters of a configuration that no member is, as long as the
// daemon does not know all of them.
func unseenVoters(r *api.Ring) (unseen []string) {
	for _, v := range r.Voters {
		if !slices.ContainsFunc(r.Members, func(m api.Member) bool {
			return m.ID == v.ID || m.Name == v.ID || m.Addr == config.MemberAddress(v.ID)
		}) {
			unseen = append(unseen, v.ID)
		}
	}
	return unseen
}
