package screen

import (
	"context"
	"os/exec"

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
