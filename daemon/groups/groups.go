// Package groups owns the preparation of the control groups that systemd delegates to the daemon, and
// the decision which runs have one.
package groups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/cgroup"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/session"
	"github.com/cronring/cronring/daemon/spawn"
)

// Groups makes control groups for runs.
type Groups struct {
	tree    *cgroup.Tree
	program string // see Open

	mu    sync.Mutex
	holds []*os.File // a holder ends when its file is closed
}

// holdFlag is the argument with which systemd starts this program to hold control groups; the name
// of its unit follows.
const holdFlag = "--hold-groups"

// groupPatience is how long a run waits for systemd, and shortPatience how long it waits if the
// group is optional.
const (
	groupPatience = 30 * time.Second
	shortPatience = 2 * time.Second
)

// Open finds the host's control groups. name distinguishes daemons of one host; program is the
// path of one that calls Main, if systemd runs here and can delegate groups.
func Open(name, program string) (*Groups, error) {
	g := &Groups{program: program}
	o := cgroup.Options{Name: "cronring-runs-" + name}
	if program != "" {
		o.Delegate = g.delegate
	}
	var err error
	g.tree, err = cgroup.Open(o)
	return g, err
}

// Main is the whole program of a holder of control groups, and nothing in any other process. It must
// be called first.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != holdFlag {
		return
	}
	if err := cgroup.Hold(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// delegate requests a part of the tree from systemd. A holder process keeps it until this daemon and all
// of its runs have ended.
func (g *Groups) delegate(ctx context.Context, slice string) (cgroup.Unit, error) {
	wait, hold, err := os.Pipe()
	if err != nil {
		return cgroup.Unit{}, err
	}
	defer wait.Close()
	unit := fmt.Sprintf("cronring-runs-%x.service", time.Now().UnixNano())
	group, pid, err := session.Delegate(ctx, session.Delegation{
		Unit: unit, Slice: slice, Description: "Jobs of cronring with limits, in " + slice,
		Argv: []string{g.program, holdFlag, unit}, Stdin: wait,
	})
	if err != nil {
		return cgroup.Unit{}, errors.Join(err, hold.Close())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = append(g.holds, hold)
	return cgroup.Unit{Group: group, PID: pid}, nil
}

// Close ends the holders, and removes empty groups.
func (g *Groups) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, hold := range g.holds {
		_ = hold.Close() // nothing was written to it
	}
	g.tree.Close()
}

// Needs reports whether a run must have a group for its limits, or should have one because the
// daemon may have to end all of its processes.
func (g *Groups) Needs(s *effect.Start) bool {
	o := s.Entry.Options()
	return cgroup.Needs(o.Resources) || o.Timeout > 0 || o.Watchdog > 0 || o.Preemptible || o.Overlap == option.OverlapReplace || o.Overlap == option.OverlapKill
}

// Make runs jobs without limits without a group if groups are not available.
func (g *Groups) Make(ctx context.Context, name string, s *effect.Start) (spawn.Group, error) {
	r := s.Entry.Options().Resources
	must := cgroup.Needs(r)
	patience := shortPatience
	if must {
		patience = groupPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	made, err := g.tree.Make(ctx, name, r)
	switch {
	case err == nil:
		return made, nil
	case must:
		return nil, err
	}
	return nil, nil
}

// Find finds the group of a run of a previous daemon.
func (g *Groups) Find(text []byte) (spawn.Group, error) {
	found := &cgroup.Group{}
	if err := found.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("find control group: %w", err)
	}
	return found, nil
}

// Unfit returns the options whose limits cannot be enforced on this host, and why.
func (g *Groups) Unfit(ctx context.Context, crontabs []*crontab.File) map[*option.Options]string {
	all := map[*option.Options]string{}
	asked := map[option.Resources]string{}
	for _, t := range crontabs {
		for i := range t.Entries {
			o := t.Entries[i].Options()
			if o.Resources == nil {
				continue
			}
			if _, known := all[o]; known {
				continue
			}
			if why := g.missing(ctx, o.Resources, asked); why != "" {
				all[o] = "Its limits cannot be enforced: " + why + "."
			}
		}
	}
	return all
}

// missing checks each set of limits once, regardless of their sizes.
func (g *Groups) missing(ctx context.Context, r *option.Resources, asked map[option.Resources]string) string {
	kind := option.Resources{
		Memory: min(r.Memory, 1), MemoryHigh: min(r.MemoryHigh, 1), CPU: min(r.CPU, 1), Tasks: min(r.Tasks, 1),
		IOWeight: min(r.IOWeight, 1), CPUWeight: min(r.CPUWeight, 1), Slice: r.Slice,
	}
	why, known := asked[kind]
	if !known {
		why = g.Missing(ctx, &kind)
		asked[kind] = why
	}
	return why
}

// Missing returns why limits cannot be enforced on this host, or "".
func (g *Groups) Missing(ctx context.Context, r *option.Resources) string {
	return g.tree.Missing(ctx, r)
}
