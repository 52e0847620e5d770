package screen

import (
	"context"
	"os/exec"
	"slices"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Hosts are the other hosts that the dashboard can reach.
type Hosts interface {
	// Named returns the hosts that the user named, without the one that is shown.
	Named() []string
	// Daemon returns the daemon of a host. It does not connect: each request does.
	Daemon(host string) (Daemon, error)
	// Flags are those with which a command asks the daemon of a host.
	Flags(host string) []string
	// Dashboard returns the program that shows the dashboard of a host, with the cursor on a job; empty:
	// on the first.
	Dashboard(host string, at job.ID) *exec.Cmd
}

// Elsewhere is a screen whose subject is jobs of several hosts.
type Elsewhere interface {
	// World returns the world whose board has the subject's jobs.
	World(w *World) *World
	// Reroute returns a Do about the subject's jobs that asks the daemons of their hosts.
	Reroute(w *World, d Do) Do
}

// KnownHosts returns the hosts that the user named, and the other members of the ring, if they are
// known.
func (w *World) KnownHosts(ctx context.Context, d Daemon) []string {
	if w.Hosts == nil {
		return nil
	}
	names := slices.Clone(w.Hosts.Named())
	ring, _ := d.Ring(ctx) // whose screen reports the error
	for _, m := range ring.Members {
		if m.ID != ring.Self && m.State != api.MemberLeft && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}
