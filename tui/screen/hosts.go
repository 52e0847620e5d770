package screen

import (
	"context"
	"os/exec"
	"slices"

	"github.com/cronring/cronring/daemon/api"
)

// Hosts are the other hosts that the dashboard can reach.
type Hosts interface {
	// Named returns the hosts that the user named, without the one that is shown.
	Named() []string
	// Status asks the daemon of a host for its state.
	Status(ctx context.Context, host string) (api.Status, error)
	// Dashboard returns the program that shows the dashboard of a host.
	Dashboard(host string) *exec.Cmd
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
