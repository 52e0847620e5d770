package call

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// Role is a permission for the jobs of other users. Each includes those before it.
type Role int

const (
	Own     Role = iota // no permission
	View                // see them, and what they print
	Operate             // run, stop, pause, resume, acknowledge, retry and backfill them
	Admin               // everything that root may do
)

func (r Role) String() string { return [...]string{"own", "view", "operate", "admin"}[r] }

// Grant is the role of a user on the host.
type Grant struct {
	Role   Role
	Key    string   // of the configuration that gives it: "access.view"
	Member string   // of that key: the user, or a group with @ before it
	Groups []string // of the user; nil without a role
}

// GrantOf returns the highest role whose members include the user or one of the groups.
func GrantOf(user string, groups []string, members map[Role][]string) Grant {
	g := Grant{Groups: groups}
	for role := Admin; role > Own; role-- {
		for _, m := range members[role] {
			if g.has(user, m) {
				g.Role, g.Key, g.Member = role, "access."+role.String(), m
				return g
			}
		}
	}
	return Grant{}
}

// has reports whether a user, or one of the groups, is a member.
func (g Grant) has(user, member string) bool {
	group, isGroup := strings.CutPrefix(member, "@")
	return isGroup && slices.Contains(g.Groups, group) || !isGroup && user != "" && user == member
}

// Words returns the role with its reason.
func (g Grant) Words() string {
	if g.Role == Own {
		return "no role"
	}
	return fmt.Sprintf("the role %s, because %s names %s", g.Role, g.Key, g.Member)
}

// May reports whether the peer has a role for a job: a user has all roles for their own jobs. The
// lowest role for jobs of other users is View.
// access= narrows the roles of the host.
func (p Peer) May(role Role, e *crontab.Entry) bool {
	if p.Sees(e.User()) {
		return true
	}
	if p.Role < max(role, View) {
		return false
	}
	a := e.Options().Access
	return a == nil || p.among(a.View) && (role < Operate || p.among(a.Operate))
}

func (p Peer) among(members []string) bool {
	return members == nil || slices.ContainsFunc(members, func(m string) bool { return p.has(p.Name, m) })
}

// MayOf is like May, for a run or a decision of a job. The job can have had another user then, but
// roles apply only to jobs as they are installed now.
func (p Peer) MayOf(role Role, v *view.View, id job.ID, user string) bool {
	if p.Sees(user) {
		return true
	}
	if p.Role < max(role, View) {
		return false
	}
	i, ok := v.Find(id)
	return ok && v.Entry(i).User() == user && p.May(role, v.Entry(i))
}

// OnlyUser returns the user whose history is all that the caller sees. It returns "" if the caller may
// see the history of more users; then SeesRun checks each run.
func (c *Call) OnlyUser() string {
	if c.Peer.Admin || c.Peer.Role >= View {
		return ""
	}
	return c.Peer.String()
}

// Acts restricts the call to jobs and runs that the caller may operate.
func (c *Call) Acts() { c.need = Operate }

// MissingRole returns an error if the caller sees a job, or a run of it, but may not operate it.
// what is what the caller requested.
func (c *Call) MissingRole(what string, id job.ID, user string) error {
	if c.need != Operate || !c.Peer.MayOf(View, c.View, id, user) {
		return nil
	}
	why := "you are " + c.Peer.String() + " with " + c.Peer.Words()
	if c.Peer.Role >= Operate {
		why += ", and access= of the job does not name you for operate"
	}
	return &api.Error{
		Kind: api.NotAllowed, What: "cannot " + what + ": it needs the role operate", Why: why,
		Fix: "cronring access --job " + display.Quote(string(id)),
	}
}

// Owns returns an error unless jobs of a user are the caller's own, or the caller is an admin. It
// protects the input of a job, which could make the job do anything. what is what the caller
// requested.
func (c *Call) Owns(what string, id job.ID, user string) error {
	if c.Peer.Sees(user) {
		return nil
	}
	return &api.Error{
		Kind: api.NotAllowed, What: "cannot " + what + " " + display.Quote(string(id)) + ": it needs the role admin",
		Why: "the job runs as " + user + "; you are " + c.Peer.String() + " with " + c.Peer.Words(), Fix: "ask as " + user + " or root",
	}
}
