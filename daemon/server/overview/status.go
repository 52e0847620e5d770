package overview

import (
	"cmp"
	"context"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/crontabs"
	"github.com/cronring/cronring/daemon/server/jobstate"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/statistics"
)

// Daemon is the state of the daemon itself.
type Daemon interface {
	// Health returns the state of the daemon, complete for an answer.
	Health() api.Health
}

// Store is the history, as far as the overview sums it up.
type Store interface {
	Totals(ctx context.Context, since time.Time) (statistics.Totals, error)
}

// Overview shows the state of the daemon and of all jobs.
type Overview struct {
	daemon   Daemon
	store    Store
	view     func() *view.View
	now      func() time.Time
	states   *jobstate.Jobs
	crontabs *crontabs.Editor
	stateDir string // has the history
}

// New returns an overview. view and now return the newest view and the current time.
func New(d Daemon, s Store, view func() *view.View, now func() time.Time, states *jobstate.Jobs, editor *crontabs.Editor, stateDir string) *Overview {
	return &Overview{d, s, view, now, states, editor, stateDir}
}

// Health answers with the state of the daemon itself.
func (o *Overview) Health(_ context.Context, c *call.Call) error {
	return c.Answer(o.health(c.Peer))
}

// health returns the state of the daemon itself, with the problems that a user may see.
func (o *Overview) health(peer call.Peer) api.Health {
	h := o.daemon.Health()
	h.Problems, h.Notices = peer.Problems(h.Problems), peer.Problems(h.Notices)
	return h
}

// Status answers with the state of the daemon and of the jobs that the caller sees. It answers even
// if the history cannot be read, because it is needed most then.
func (o *Overview) Status(ctx context.Context, c *call.Call) error {
	jobs := c.Visible()
	st := o.head(c.View, c.Now, c.Peer)
	st.Jobs, st.Denied = len(jobs), o.crontabs.Denied(c.Peer)
	if err := o.addStates(ctx, c, &st, jobs); err != nil {
		st.Problems = append(st.Problems, o.unreadable(err))
	}
	st.Errors, st.Warnings = o.crontabs.CountFor(c.Peer)
	if c.Peer.Admin {
		day, err := o.day(ctx, c.Now)
		if err != nil {
			st.Problems = append(st.Problems, o.unreadable(err))
		}
		st.Day = day
	}
	return c.Answer(st)
}

// head is a status without anything about jobs that are not everybody's.
func (o *Overview) head(v *view.View, now time.Time, peer call.Peer) api.Status {
	st := api.Status{
		Health: o.health(peer), Now: now, Draining: v.Draining(),
		Loaded: v.Len(), Crontabs: len(v.Crontabs()), States: map[job.State]int{},
	}
	if name, until := v.Blackout(now); name != "" {
		notice := api.Problem{What: "no job starts because of " + name, Why: "it has no end", Fix: "cronring config show"}
		if !until.IsZero() {
			notice.Why = "until " + until.UTC().Format(time.RFC3339)
		}
		st.Notices = append(st.Notices, notice)
	}
	return st
}

func (o *Overview) unreadable(err error) api.Problem {
	why, fix := database.Explain(err, o.stateDir)
	return api.Problem{
		What: "the history cannot be read: what is counted here leaves it out",
		Why:  why, Fix: cmp.Or(fix, "check the disk that holds the state directory"),
	}
}

func (o *Overview) addStates(ctx context.Context, c *call.Call, st *api.Status, jobs []int) error {
	first := -1
	for _, i := range jobs {
		at := c.View.Next(i, c.Now)
		if !at.IsZero() && (st.Next == nil || at.Before(st.Next.At)) {
			first, st.Next = i, &api.Upcoming{Job: c.View.ID(i), At: at}
		}
	}
	if st.Next != nil {
		st.Next.Node = o.states.Whereabouts(c.View).Of(first, st.Next.At)
	}
	for one, err := range o.states.States(ctx, c, jobs) {
		if err != nil {
			return err
		}
		st.States[one.State()]++
	}
	return nil
}

// day sums up the last 24 hours.
func (o *Overview) day(ctx context.Context, now time.Time) (*api.Totals, error) {
	t, err := o.store.Totals(ctx, now.Add(-24*time.Hour))
	if err != nil {
		return nil, err
	}
	return &api.Totals{Runs: t.OK + t.Failed, OK: t.OK, Failed: t.Failed, Skipped: t.Skipped, LagP99: t.LagP99}, nil
}
