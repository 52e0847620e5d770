package member

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/gossip"
	"github.com/cronring/cronring/gossip/holders"
	"github.com/cronring/cronring/gossip/inbox"
	"github.com/cronring/cronring/gossip/meta"
)

// maxMoves is the number of hand-overs that are remembered.
const maxMoves = 20

// ringHistory records what happened in the ring: the owners of jobs, and how jobs moved between
// members.
type ringHistory struct {
	mu      sync.Mutex
	view    *view.View // for which shares were counted
	shares  map[string]int
	none    int                     // ring jobs without an owner
	members map[string]*gossip.View // as they were seen last, by ID
	moves   []api.Move
}

// watch keeps the chronicle, and the others informed of how busy this host is.
func (r *Member) watch(ctx context.Context, view func() *view.View) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		v := view()
		r.members.SetLoad(v.Busy())
		r.past.look(v, r.members.Snapshot(), time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look takes in what has changed.
func (c *ringHistory) look(v *view.View, s *gossip.Snapshot, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Joined {
		c.compare(s.Members, now)
	}
	if c.view == nil || !v.SameRing(c.view) {
		c.shares, c.none = v.Shares(now)
		c.view = v
	}
}

// compare records what has changed since the members were seen last.
func (c *ringHistory) compare(members []gossip.View, now time.Time) {
	seen := map[string]*gossip.View{}
	for i := range members {
		m := &members[i]
		if before := c.members[m.ID]; before != nil {
			c.note(before, m, now)
		}
		seen[m.ID] = m
	}
	c.members = seen
}

// note records that a member came or went.
func (c *ringHistory) note(before, m *gossip.View, now time.Time) {
	drained, draining := isDraining(before), isDraining(m)
	jobs := c.shares[m.ID]
	what := ""
	switch {
	case m.State == before.State && draining && !drained:
		what = fmt.Sprintf("%s hands over its jobs (planned)", m.Name)
	case m.State == before.State && drained && !draining:
		what, jobs = m.Name+" takes part again", 0
	case m.State == before.State:
		return
	case m.State == gossip.Alive:
		what, jobs = m.Name+" came back", 0
	case m.State == gossip.Left:
		what = m.Name + " left (planned)"
	default:
		what = m.Name + " is gone"
	}
	if jobs > 0 {
		what += ": " + display.Count(jobs, "job") + " move"
	}
	c.moves = append([]api.Move{{At: now.UTC(), What: what, Jobs: jobs}}, c.moves[:min(len(c.moves), maxMoves-1)]...)
}

func isDraining(m *gossip.View) bool { return m.State == gossip.Alive && m.Part == meta.Draining }

// Taken returns the newest occurrence that another member has taken, and its name.
func (q Requests) Taken(key job.Key) (due time.Time, by string, ok bool) {
	return q.members.Newest(key)
}

// Status is the ring as this host sees it.
func (q Requests) Status() api.Ring {
	s, v := q.members.Snapshot(), q.View()
	q.past.look(v, s, time.Now())
	return q.describe(s, v)
}

// describe returns the ring of a snapshot.
func (r *Member) describe(s *gossip.Snapshot, v *view.View) api.Ring {
	status := api.Ring{
		Name: r.config.Name, Mode: r.config.Mode(), Self: r.id, Joined: s.Joined, Jobs: v.RingJobs(),
		Members: []api.Member{}, Held: s.Barred, Problems: r.problems(s, v),
		Claims: api.Claims{
			Granted: r.answered[holders.Granted].Load(), Refused: r.answered[holders.Refused].Load(), Unknown: r.answered[holders.Postponed].Load(),
		},
	}
	r.past.mu.Lock()
	defer r.past.mu.Unlock()
	status.Unowned, status.Handovers = r.past.none, slices.Clone(r.past.moves)
	for i := range s.Members {
		m := memberStatus(&s.Members[i])
		m.Owns = r.past.shares[m.ID]
		if m.ID == r.id {
			m.Runs = v.Busy()
		}
		status.Members = append(status.Members, m)
	}
	slices.SortFunc(status.Members, func(a, b api.Member) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	status.Drained = drainedOf(v)
	r.addVoters(&status)
	status.SafeLoss = safeLoss(&status)
	return status
}

// drainedOf counts the runs of the ring that are here, if this host is drained, or returns
// nil.
func drainedOf(v *view.View) *api.Drained {
	here, drained := v.Drained()
	if !drained {
		return nil
	}
	d := &api.Drained{}
	for i := range here {
		if here[i].State == job.RunQueued || here[i].State == job.RunWaiting {
			d.Waiting++
		} else {
			d.Running++
		}
	}
	return d
}

func memberStatus(m *gossip.View) api.Member {
	status := api.Member{
		ID: m.ID, Name: m.Name, Addr: m.Address, Since: m.Changed, Labels: m.Labels, Weight: m.Weight, Version: m.Version,
		Clock: m.Offset, RTT: m.Trip, Runs: m.Load, Lacks: len(m.Lacks) + len(m.Extra),
	}
	switch {
	case m.State == gossip.Left:
		status.State = api.MemberLeft
	case m.State == gossip.Gone:
		status.State = api.MemberDown
	case m.Part == meta.Draining:
		status.State = api.MemberDraining
	case m.Part == meta.Joining:
		status.State = api.MemberJoining
	default:
		status.State = api.MemberUp
	}
	return status
}

// addVoters adds the state of the voters.
func (r *Member) addVoters(status *api.Ring) {
	if !r.config.Strict {
		return
	}
	status.Quorum = len(r.config.Voters)/2 + 1
	voters := r.voters.Load()
	if voters == nil {
		for _, v := range r.config.Voters {
			status.Voters = append(status.Voters, api.Voter{ID: v})
		}
		return
	}
	l := voters.Status()
	for _, id := range l.Declared {
		status.Voters = append(status.Voters, api.Voter{ID: id, Leader: id == l.Leader, Up: !r.isDead(id)})
	}
}

// safeLoss returns how many members, in any combination, may go down while every ring job still has
// a member to run it and enough voters to grant it. It assumes that all members are alike.
func safeLoss(status *api.Ring) int {
	up, votersUp := 0, 0
	for i := range status.Members {
		if status.Members[i].State == api.MemberUp {
			up++
		}
	}
	safe := max(up-1, 0)
	if status.Quorum > 0 {
		for _, v := range status.Voters {
			if v.Up {
				votersUp++
			}
		}
		safe = min(safe, max(votersUp-status.Quorum, 0))
	}
	return safe
}

// Problems returns the problems of this host in the ring.
func (r *Member) Problems(v *view.View) []api.Problem { return r.problems(r.members.Snapshot(), v) }

// problems returns the problems of the ring.
func (r *Member) problems(s *gossip.Snapshot, v *view.View) []api.Problem {
	var all []api.Problem
	if s.Problem != "" {
		all = append(all, api.Problem{What: "this host is not in the ring " + r.config.Name + ", and ring jobs wait", Why: s.Problem, Fix: "cronring config show"})
	}
	if s.Barred != "" {
		all = append(all, api.Problem{What: "this host takes no ring jobs", Why: s.Barred, Fix: s.Remedy})
	}
	own := rulesOf(&r.config)
	for i := range s.Members {
		all = append(all, memberProblems(&s.Members[i], s.Self)...)
		all = append(all, otherRules(&s.Members[i], own)...)
		all = append(all, foreignClaims(&s.Members[i], v)...)
	}
	for _, o := range s.Others {
		all = append(all, outsider(o, s.Ring))
	}
	if voters := r.voters.Load(); voters != nil {
		l := voters.Status()
		if l.Problem != "" {
			all = append(all, api.Problem{What: "this host grants no occurrences, although it is a voter", Why: l.Problem})
		}
		if l.State != "" && l.Leader == "" {
			all = append(all, api.Problem{What: "the voters have no leader: ring jobs wait", Why: "fewer than a majority of them see each other, most of them have lost their logs or were restored from older copies, or not all of them have met once with the same ring.voters", Fix: "start cronring on all of them; if their disks are lost, see RECOVERY in cronring-ring-setup(7)"})
		}
	} else if r.config.Strict {
		all = append(all, api.Problem{What: "not all voters were seen yet: ring jobs wait", Why: "the voters are " + strings.Join(r.config.Voters, ", "), Fix: "start cronring on them"})
	}
	return all
}

// outsider reports a host that has a key of this ring, but is not a member.
func outsider(o inbox.Outsider, ring string) api.Problem {
	what := fmt.Sprintf("%s at %s has a key of the ring, but is not a member", o.Name, o.Address)
	if o.Ring != "" {
		return api.Problem{
			What: what,
			Why:  fmt.Sprintf("its ring.name is %q; that of this host is %q", o.Ring, ring),
			Fix:  fmt.Sprintf("set ring.name to %q there, then: systemctl restart cronring; or give its ring another key", ring),
		}
	}
	runs := "another version of cronring"
	if o.Version != "" {
		runs = "cronring " + o.Version
	}
	return api.Problem{
		What: what,
		Why:  fmt.Sprintf("it runs %s, whose messages have form %d; those of this host have form %d", runs, o.Form, o.Own),
		Fix:  "install one version of cronring on all members",
	}
}

// otherRules reports a member whose rules are not this host's.
func otherRules(m *gossip.View, own meta.Rules) []api.Problem {
	if m.State != gossip.Alive || m.Rules == own {
		return nil
	}
	return []api.Problem{{
		What: fmt.Sprintf("%s has %s, but this host has %s", m.Name, m.Rules, own),
		Why:  "members whose settings differ from those of most members claim no ring jobs",
		Fix:  "give ring.mode, ring.hold-off and ring.voters the same values on all members, then: systemctl restart cronring",
	}}
}

func memberProblems(m *gossip.View, self string) []api.Problem {
	if m.ID == self {
		return nil
	}
	var all []api.Problem
	switch {
	case m.State == gossip.Gone:
		all = append(all, api.Problem{What: m.Name + " does not answer", Fix: "look at " + m.Address})
	case m.State != gossip.Alive:
		return nil
	}
	if m.Skewed {
		side := "ahead"
		if m.Offset < 0 {
			side = "behind"
		}
		all = append(all, api.Problem{What: fmt.Sprintf("the clock of %s is %s %s", m.Name, display.Lag(m.Offset.Abs()), side), Fix: "chronyc makestep"})
	}
	if n := len(m.Lacks) + len(m.Extra); n > 0 && m.State == gossip.Alive {
		all = append(all, api.Problem{
			What: fmt.Sprintf("%s and this host differ in %s", m.Name, display.Count(n, "ring job")), Why: "members take over only jobs whose entries are identical",
			Fix: "cronring ring diff " + m.Name,
		})
	}
	if m.Trouble != "" && m.State == gossip.Alive {
		all = append(all, api.Problem{What: "cannot compare ring jobs with " + m.Name, Why: m.Trouble})
	}
	return all
}

// foreignClaims reports the jobs of which a member claims occurrences without having this host's
// entry.
func foreignClaims(m *gossip.View, v *view.View) []api.Problem {
	if len(m.Foreign) == 0 || m.State != gossip.Alive {
		return nil
	}
	job := "a job"
	for i, h := range v.Holdings() {
		if h.Key == m.Foreign[0] {
			job = "job " + string(v.ID(i))
			break
		}
	}
	if n := len(m.Foreign) - 1; n > 0 {
		job += " and " + display.Count(n, "other job")
	}
	return []api.Problem{{
		What: fmt.Sprintf("%s claims occurrences of %s without holding the entry: its claims are ignored", m.Name, job),
		Why:  "only members with the same entry can run each other's occurrences", Fix: "cronring ring diff " + m.Name,
		User: "root", // it may name a job of another user
	}}
}
