// Package hostjobs owns the screen that lists the jobs of several hosts together.
package hostjobs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/board"
	hostwatch "github.com/cronring/cronring/tui/hosts"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/jobs"
)

// HostJobs lists the jobs of several hosts. It is the list of jobs on a merged board, whose requests
// go to the daemons of the hosts.
type HostJobs struct {
	list   *jobs.Jobs
	board  *board.Board
	crons  map[string]bool // names of the hosts that run cron and no daemon
	world  screen.World    // as the list sees it
	chosen []string        // hosts by their names in screen.Hosts; none: all
	hosts  []*host
	byName map[string]*host
}

// host is a host whose jobs are listed.
type host struct {
	name    string // on the board
	address string // in screen.Hosts; empty: the host that is shown
	zone    string
	known   bool // all its jobs were received once
	err     error
	since   time.Time // of err: until then, its jobs are current
}

const (
	slotBoards    = "boards"
	slotDashboard = "dashboard"
)

// ringTime limits the request to the dashboard's daemon for the members of its ring.
const ringTime = 2 * time.Second

// New makes the screen of some hosts, or of all.
func New(chosen []string) *HostJobs {
	s := &HostJobs{board: board.NewMerged(), crons: map[string]bool{}, chosen: chosen, byName: map[string]*host{}}
	s.list = jobs.NewMerged(s.age)
	return s
}

// age returns how old the jobs of a host are; empty: they are current.
func (s *HostJobs) age(w *screen.World, name string) string {
	if h := s.byName[name]; h != nil && h.err != nil {
		return short(w.Now.Sub(h.since))
	}
	return ""
}

// short returns a duration in its largest unit.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// World returns the data for the list: the jobs of all hosts, without the data that concern only the
// host of the dashboard.
func (s *HostJobs) World(w *screen.World) *screen.World {
	query, at := s.world.Query, s.world.At
	s.world = *w
	s.world.Board, s.world.Crons, s.world.Query, s.world.At = s.board, s.crons, query, at
	s.world.Status, s.world.Link = api.Status{}, screen.Link{Live: true, Tried: true}
	return &s.world
}

// Scope returns the scope of the list of jobs.
func (*HostJobs) Scope() keys.Scope { return keys.Jobs }

// Foot returns the keys of the last line.
func (*HostJobs) Foot(*screen.World) []keys.Action {
	return []keys.Action{
		keys.Open, keys.Run, keys.Stop, keys.Pause, keys.Acknowledge, keys.Mark, keys.Filter, keys.States, keys.Sort, keys.Back, keys.Help,
	}
}

// Open begins to follow the boards of the hosts.
func (s *HostJobs) Open(w *screen.World) []screen.Effect {
	effects := s.route(w, s.list.Open(s.World(w)))
	other, chosen := w.Hosts, s.chosen
	return append(effects, screen.Follow{Slot: slotBoards, Call: func(ctx context.Context, d screen.Daemon) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			names := chosen
			if len(names) == 0 {
				names = append([]string{""}, known(ctx, w, d)...)
			}
			names = names[:min(len(names), hostwatch.Most)]
			if !yield(names, nil) {
				return
			}
			for some := range hostwatch.WatchBoards(ctx, names, func(host string) (hostwatch.Daemon, error) {
				if host == "" {
					return d, nil
				}
				return other.Daemon(host)
			}) {
				if !yield(some, nil) {
					return
				}
			}
		}
	}})
}

func known(ctx context.Context, w *screen.World, d screen.Daemon) []string {
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	return w.KnownHosts(ctx, d)
}

// Take receives the names of the hosts, then updates of their boards and answers for the list.
func (s *HostJobs) Take(w *screen.World, a screen.Answer) []screen.Effect {
	in := s.World(w)
	switch value := a.Value.(type) {
	case []string:
		s.setHosts(w, value)
	case []hostwatch.BoardReport:
		for _, r := range value {
			s.report(w, r)
		}
	default:
		if a.Slot == slotDashboard && a.Err != nil {
			return []screen.Effect{screen.Toast{Text: "the dashboard of the host ended: " + a.Err.Error(), Bad: true}}
		}
		if a.Slot != slotBoards && a.Slot != slotDashboard {
			return s.route(w, s.list.Take(in, a))
		}
	}
	return s.route(w, s.list.Refresh(in))
}

// setHosts sets the hosts. It keeps the data of hosts that remain, and drops the jobs of the others.
func (s *HostJobs) setHosts(w *screen.World, addresses []string) {
	before := s.hosts
	s.hosts, s.byName = nil, map[string]*host{}
	for _, address := range addresses {
		h := &host{name: address, address: address}
		if address == "" {
			h.name = cmp.Or(w.Status.Host, "this host")
		}
		if i := slices.IndexFunc(before, func(old *host) bool { return old.address == address }); i >= 0 {
			h = before[i]
		} else if slices.Contains(addresses, h.name) && address == "" {
			h.name += " (shown)"
		}
		s.hosts = append(s.hosts, h)
		s.byName[h.name] = h
	}
	for _, old := range before {
		if s.byName[old.name] == nil {
			s.board.ApplyHost(old.name, api.BoardUpdate{Begin: true, Complete: true})
		}
	}
}

// report applies an update of a host's board, or the reason why the board ended.
func (s *HostJobs) report(w *screen.World, r hostwatch.BoardReport) {
	i := slices.IndexFunc(s.hosts, func(h *host) bool { return h.address == r.Host })
	if i < 0 {
		return
	}
	h := s.hosts[i]
	if r.Err != nil {
		if h.err == nil {
			h.since = w.Now
		}
		h.err = r.Err
		return
	}
	h.err = nil
	if r.Update.Head != nil {
		h.zone, s.crons[h.name] = r.Update.Head.Zone, r.Update.Head.NoDaemon != ""
	}
	for i := range r.Update.Rows {
		row := &r.Update.Rows[i]
		row.Zone = h.zoneOf(row.Zone)
	}
	s.board.ApplyHost(h.name, r.Update)
	h.known = h.known || r.Update.Complete
}

// zoneOf returns the name of a zone that is right on other hosts too.
func (h *host) zoneOf(zone string) string {
	if zone == "" || zone == "Local" {
		return h.zone
	}
	return zone
}

// Refresh updates the times.
func (s *HostJobs) Refresh(w *screen.World) []screen.Effect {
	return s.route(w, s.list.Refresh(s.World(w)))
}

// Act passes a key to the list, but opens the dashboard of the job's host.
func (s *HostJobs) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	effects, ok := s.list.Act(s.World(w), a)
	return s.route(w, effects), ok
}

// open opens a job in the dashboard of its host.
func (s *HostJobs) open(w *screen.World, id job.ID) screen.Effect {
	id, name := board.SplitHost(id)
	h := s.byName[name]
	if h == nil || h.address == "" {
		return screen.Show{Action: keys.Open, Subject: screen.Subject{Jobs: []job.ID{id}}}
	}
	return screen.Execute{Slot: slotDashboard, Program: func() *exec.Cmd { return w.Hosts.Dashboard(h.address, id) }}
}

// Typing, Type, View and SetView call the methods of the list.
func (s *HostJobs) Typing() bool { return s.list.Typing() }
func (s *HostJobs) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	effects, ok := s.list.Type(s.World(w), k)
	return s.route(w, effects), ok
}
func (s *HostJobs) View() screen.View { return s.list.View() }
func (s *HostJobs) SetView(w *screen.World, v screen.View) []screen.Effect {
	return s.route(w, s.list.SetView(s.World(w), v))
}

// Subject returns the selected jobs.
func (s *HostJobs) Subject(w *screen.World) screen.Subject {
	about := s.list.Subject(s.World(w))
	about.File, about.Line = "", 0 // files of the host that is shown have the same names
	about.Elsewhere = true
	return about
}

// oneHost are the keys that work only in the dashboard of one host.
var oneHost = []keys.Action{
	keys.Explain, keys.ShowOutput, keys.PageOutput, keys.Edit, keys.Add, keys.Delete, keys.Backfill, keys.Copy,
	keys.ShowStats, keys.ShowUpcoming, keys.ShowGroups, keys.ShowDST, keys.Reload,
}

// Refuses returns why a key does nothing here.
func (s *HostJobs) Refuses(w *screen.World, a keys.Action) string {
	if slices.Contains(oneHost, a) {
		return "on its host: enter opens it there"
	}
	return s.list.Refuses(s.World(w), a)
}
