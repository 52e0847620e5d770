package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/server"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/members"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store/database"
	"github.com/cronring/cronring/daemon/store/prune"
)

// backend is the daemon as the server sees it.
type backend struct{ *shared }

// Reload reads the crontabs again, and waits for that.
func (b backend) Reload(ctx context.Context) ([]crontab.Diagnostic, error) {
	if err := b.reread(ctx); err != nil {
		return nil, err
	}
	s := b.crontabs.current()
	var refused []string
	for _, r := range s.Refused {
		refused = append(refused, r.Path+" is not read: "+r.Why)
	}
	problems, _ := b.config.problems()
	for _, p := range problems {
		refused = append(refused, p.What+": "+p.Why)
	}
	if len(refused) > 0 {
		return nil, &api.Error{
			Kind: api.Internal, What: "not everything in the files is in force",
			Why: strings.Join(refused, "; "), Fix: "cronring status",
		}
	}
	return b.Diagnostics(), nil
}

func (b backend) Diagnostics() []crontab.Diagnostic {
	return append(b.config.diagnostics(), b.crontabs.current().Diagnostics...)
}

func (b backend) Refused() []spool.Refusal { return b.crontabs.current().Refused }

func (b backend) Subscribe(ctx context.Context) <-chan api.Event { return b.hub.Subscribe(ctx) }

func (b backend) Follow(ctx context.Context, id job.RunID) ([]job.Chunk, <-chan api.Event) {
	return b.hub.Follow(ctx, id)
}

func (b backend) Prune(ctx context.Context) (prune.Pruned, error) { return b.pruneOnce(ctx, true) }

// Plan uses the spawner, which also starts the runs.
func (b backend) Plan(ctx context.Context, start effect.Start) (api.Environment, error) {
	p, err := b.spawner.Plan(ctx, &start)
	if err != nil {
		return api.Environment{}, err
	}
	e := api.Environment{
		User: p.Account.Name, UID: p.Account.UID, GID: p.Account.GID, Groups: p.Account.Groups,
		Argv: p.Argv, Dir: p.Dir, InRoot: p.InRoot, Env: p.Env, RunEnv: p.RunEnv, Nice: p.Nice, Idle: p.Idle,
		Session: p.Session, NoNetwork: p.NoNetwork, Credentials: p.Secrets,
	}
	if box := p.Sandbox; box != nil {
		e.Sandbox, e.Readable, e.Writable = box.Level.String(), box.Readable(), box.Writable(p.Account.UID)
	}
	switch {
	case p.Umask != nil:
		e.Umask = fmt.Sprintf("%03o", *p.Umask)
	case !p.Session:
		e.Umask = "022"
	}
	for _, l := range p.Limits {
		e.Limits = append(e.Limits, api.ResourceLimit{Name: account.ResourceName(l.Resource), Soft: l.Soft, Hard: l.Hard})
	}
	return e, nil
}

func (b backend) Tap(f func([]job.Record, []job.Summary)) { b.tap.Store(&f) }

func (b backend) Waiting() (letters, notices int) {
	if b.mailer != nil {
		letters = b.mailer.Count()
	}
	return letters, b.notices.Count()
}

// startedAt returns when the daemon started, according to the host's clock now: if the clock was
// set since, its earlier time has no meaning. Rounding keeps the answer the same from call to call.
func startedAt(begun, now job.Moment) time.Time {
	moved := now.Wall.Sub(begun.Wall) - (now.Up - begun.Up)
	return begun.Wall.Add(moved.Round(time.Second))
}

// Health returns the problems of the daemon itself.
func (b backend) Health() api.Health {
	host, _ := os.Hostname()
	s := b.crontabs.current()
	h := api.Health{
		V: api.Version, Version: b.options.Version, PID: os.Getpid(), Host: host,
		Zone: s.Zone.String(), Started: startedAt(b.begun, b.clock.Now()),
	}
	if t := b.storeState.Load(); t != nil && t.Err != nil {
		h.Unwritten, h.Lost = t.Unwritten, t.Lost
		h.Problems = append(h.Problems, storeProblem(t, b.options.State))
	}
	if b.history.Notice != "" {
		h.Problems = append(h.Problems, api.Problem{What: "the history was damaged, and a new one was started", Why: b.history.Notice})
	}
	if lost, err := b.logWriter.Problem(); err != nil {
		h.Problems = append(h.Problems, api.Problem{What: fmt.Sprintf("the log takes nothing; %d entries are lost", lost), Why: err.Error()})
	}
	problems, notices := b.config.problems()
	h.Problems, h.Notices = append(h.Problems, ofRoot(problems)...), append(h.Notices, ofRoot(notices)...)
	if b.listening != nil {
		if err := b.listening(); err != nil {
			h.Problems = append(h.Problems, api.Problem{What: "the listener is not open", Why: err.Error(), Fix: "change the address in the configuration, then: systemctl reload cronring", User: "root"})
		}
	}
	b.sessions.Health(&h)
	h.Problems = append(h.Problems, b.ringProblems()...)
	h.Problems = append(h.Problems, b.queueProblems()...)
	h.Problems = append(h.Problems, crontabProblems(s, b.crontabs.paths)...)
	undelivered := b.notices.Problems()
	if b.mailer != nil {
		undelivered = append(b.mailer.Problems(), undelivered...)
	}
	for _, p := range undelivered {
		h.Problems = append(h.Problems, api.Problem(p))
	}
	if b.options.host() {
		for _, err := range b.accounts.Diagnostics(b.options.Family) {
			h.Notices = append(h.Notices, api.Problem{What: "a line that jobs should be bound by does not count", Why: err.Error(), User: "root"})
		}
	}
	h.Notices = append(h.Notices, ofRoot(b.fileNotices())...)
	for _, i := range s.Ignored {
		h.Notices = append(h.Notices, api.Problem{What: i.Path + " is " + i.Why, User: "root"})
	}
	return h
}

// ofRoot marks problems that only admins see.
func ofRoot(all []api.Problem) []api.Problem {
	for i := range all {
		all[i].User = "root"
	}
	return all
}

// overflowShown is the time for which dropped runs are reported as a problem.
const overflowShown = time.Hour

// queueProblems reports that runs were dropped lately because too many waited.
func (b backend) queueProblems() []api.Problem {
	over := b.view.Load().Overflow()
	if over.Count == 0 || b.clock.Now().Wall.Sub(over.Last) > overflowShown {
		return nil
	}
	return []api.Problem{{
		What: fmt.Sprintf("%d runs were dropped since the daemon started, the last at %s", over.Count, over.Last.Format(time.RFC3339)),
		Why:  "more runs of " + over.User + " waited for a slot than queue-max of the configuration allows",
		Fix:  "see what waits with cronring list --state late,running, or raise queue-max",
		User: "root", // the number is of all users
	}}
}

// crontabProblems reports crontabs that are not in force, and changes that may be noticed late.
func crontabProblems(s spool.Snapshot, paths spool.Paths) []api.Problem {
	var all []api.Problem
	owner := func(path string) string {
		name, _ := paths.IsUserCrontab(path)
		return cmp.Or(name, "root")
	}
	for _, r := range s.Refused {
		what := r.Path + " is not read: " + r.Word
		if r.Kept {
			what += "; what it said before stays"
		}
		all = append(all, api.Problem{What: what, Why: r.Why, Fix: r.Fix, User: owner(r.Path)})
	}
	for _, t := range s.Crontabs {
		if t.Truncated() {
			all = append(all, api.Problem{
				What: "only the beginning of " + t.Name + " is loaded", Why: "it is beyond the limit of a user", Fix: "cronring lint " + t.Name, User: owner(t.Name),
			})
		}
	}
	if s.Notice != "" {
		all = append(all, api.Problem{What: "changes of crontabs are noticed once a minute", Why: s.Notice})
	}
	return all
}

func storeProblem(t *recorder.Problem, dir string) api.Problem {
	why, fix := database.Explain(t.Err, dir)
	return api.Problem{What: "history cannot be written since " + t.Since.Format(time.RFC3339) + "; jobs continue", Why: why, Fix: fix}
}

// server answers for the loop on the control socket.
func (d *shared) server() *server.Server {
	o := server.Options{
		Backend: backend{d}, Store: d.history, Log: d.log,
		Now:     func() time.Time { return d.clock.Now().Wall },
		SelfUID: uint32(os.Geteuid()),
		Account: d.accountName, HasUser: d.accounts.HasUser,
		Grant: d.grant, Exists: d.exists,
		Beats: d.beats, StateDir: d.options.State,
	}
	o.Crontabs = &server.Crontabs{
		Host: d.crontabs.host, Paths: d.crontabs.paths, Accounts: d.accounts,
		Revisions: d.history, Version: d.options.Version, LSBNames: d.options.Cron.LSBNames, Note: d.noteCrontab,
		Files: d.options.Files, System: d.options.System,
		MaxEntries: func() int { c := d.config.current(); return c.EntriesPerUser() },
		Blackouts:  func() timetable.Blackouts { c := d.config.current(); return c.HostBlackouts(d.hostZone()) },
		Calendars:  func() map[string]timetable.Calendar { c := d.config.current(); return c.Dates() },
	}
	return server.New(o)
}

// noteCrontab writes what crontab(1) does into cron's log.
func (d *shared) noteCrontab(pid int, who, word, text string) {
	d.logWriter.Cron(who, journal.CronLine{From: journal.Crontab, PID: pid, Who: who, Word: word, Text: text})
}

// accountName returns the name of a user on the socket.
func (d *shared) accountName(uid uint32) (string, error) {
	return d.accounts.Name(context.Background(), uid)
}

// exists reports whether a user exists, or cannot be looked up now.
func (d *shared) exists(ctx context.Context, user string) bool {
	_, err := d.accounts.Find(ctx, user)
	return !account.IsUnknown(err)
}

// grant returns the role of a user. While a directory service does not answer, groups that only it
// has give none.
func (d *shared) grant(ctx context.Context, user string) call.Grant {
	c := d.config.current()
	a := c.Access
	if len(a.View)+len(a.Operate)+len(a.Admin) == 0 {
		return call.Grant{}
	}
	groups, err := d.accounts.GroupsOf(ctx, user)
	if err != nil {
		d.log.Debug("groups are not known", "user", user, "error", err)
	}
	return call.GrantOf(user, groups, map[call.Role][]string{call.View: a.View, call.Operate: a.Operate, call.Admin: a.Admin})
}

// upRecord is the first record of a daemon's life.
func upRecord(now time.Time, o Options) job.Record {
	return job.Record{At: now, Kind: job.Up, Detail: job.DetailVersion(o.Version)}
}

// ringProblems returns the problems of this host in the ring.
func (b backend) ringProblems() []api.Problem {
	switch {
	case b.ringless != nil:
		return []api.Problem{{
			What: "this host is not in the ring of its configuration, and its ring jobs are held",
			Why:  b.ringless.Error(), Fix: "mend it, then: systemctl restart cronring",
		}}
	case b.ring == nil:
		return nil
	}
	return b.ring.Problems(b.View())
}

// Ring is the ring that the daemon is a member of, or members.None.
func (b backend) Ring() server.Ring {
	if b.ring == nil {
		return members.None{}
	}
	return member.Requests{Member: b.ring, View: b.View}
}
