package why

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/members"
)

// ownership describes which member owns an occurrence of a ring job.
type ownership struct {
	owner exchange.Owner
	known bool // else the members of the ring are not known
	past  bool // it is due, so the owner is that of the members of that time
	waits bool // not decided yet
	why   string

	taker   string   // the member that reports to have decided it; "": none was found
	verdict string   // its verdict
	unasked []string // members that could not be asked, and why
}

// findOwnership finds the owner of an occurrence; nil for a job that is not the ring's.
func findOwnership(v *view.View, i int, ev *evidence) *ownership {
	if v.Entry(i).Options().Scope != option.ScopeRing {
		return nil
	}
	t := &ownership{past: !ev.at.After(v.Now().Wall)}
	owner := v.Owner
	if t.past {
		owner = v.OwnerThen
	}
	t.owner, t.known = owner(i, ev.at)
	for _, b := range v.Undecided() {
		if b.Job == ev.job.ID && b.Due.Equal(ev.at) {
			t.waits, t.why = true, b.Why
		}
	}
	return t
}

// nodeFact describes why this host had to run it.
func (ev *evidence) nodeFact() string {
	switch {
	case ev.ownership == nil:
		return ev.host + " runs it: the entry is this host's own"
	case ev.decided:
		return "of the ring's members it was " + ev.host + "'s"
	}
	return ev.ownership.words(ev.host)
}

// words describes which member owns an occurrence that was not decided here.
func (t *ownership) words(host string) string {
	switch {
	case t.taker != "":
		return t.taker + " took it"
	case t.waits && t.why != "":
		return "the ring has no quorum: " + t.why
	case t.waits:
		return "the ring has no quorum: the voters do not answer, and are asked again"
	case !t.known && t.past:
		return host + " does not know which members the ring had then"
	case !t.known:
		return host + " knows nothing of the other members of the ring yet"
	}
	var fit, others []string
	for _, c := range t.owner.Members {
		if c.Against == "" {
			fit = append(fit, c.Name)
		} else if len(others) < mostParents {
			others = append(others, fmt.Sprintf("%s: %s", c.Name, c.Against))
		}
	}
	is, next, may := "as the ring is now, it is ", " is next in line", " is allowed to run it"
	if t.past {
		is, next, may = "as the ring was then, it was ", " was next in line", " was allowed to run it"
	}
	switch {
	case len(fit) == 0:
		return "no member of the ring" + may + " (" + strings.Join(others, "; ") + ")"
	case len(fit) == 1:
		return is + fit[0] + "'s, and no other member" + may
	}
	return is + fit[0] + "'s; " + fit[1] + next
}

// isElsewhere reports whether another member may have decided an occurrence that was not decided
// here, or will decide it.
func (ev *evidence) isElsewhere() bool { return ev.ownership != nil && !ev.decided }

// mostAsked is the maximum number of members asked about an occurrence: no others claim one.
const mostAsked = 4

// addOthers asks the likely owners about an occurrence that was not decided here. Only for root:
// see members.Ask.
func (x *Explainer) addOthers(ctx context.Context, c *call.Call, ev *evidence) {
	if !ev.isElsewhere() || ev.at.After(ev.now) || !c.Peer.Admin || c.Query.Get("alone") != "" {
		return
	}
	status := x.ring.Status()
	query := url.Values{"job": {string(ev.job.ID)}, "at": {ev.at.Format(time.RFC3339Nano)}, "alone": {"yes"}}
	candidates := ev.ownership.owner.Members
	for _, m := range candidates[:min(mostAsked, len(candidates))] {
		k := slices.IndexFunc(status.Members, func(x api.Member) bool { return x.ID == m.ID })
		if m.Self || k < 0 {
			continue
		}
		said, err := members.Ask[api.Why](ctx, c, x.ring, status.Members[k], "/v1/why", query)
		if err != nil {
			ev.ownership.unasked = append(ev.ownership.unasked, "not asked: "+err.Error())
			continue
		}
		if said.Decision != "" {
			ev.ownership.taker, ev.ownership.verdict = m.Name, said.Verdict
			return
		}
	}
}

// askThere returns the remedies for an occurrence of another member.
func (ev *evidence) askThere() []api.Remedy {
	return []api.Remedy{
		{What: "see who is first in line, and how they are", Command: "cronring ring status"},
		{What: "see its runs on all members", Command: "cronring history --member all " + display.Quote(string(ev.job.ID))},
		ev.command("run it here now", "run"),
	}
}
