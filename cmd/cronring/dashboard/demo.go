package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// NewDemo returns the command demo. root is that of NewTop.
func NewDemo(a *cli.App, root func(*cli.App) *cobra.Command) *cobra.Command {
	f := &topFlags{root: root, screen: cli.OneOf("jobs")}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the dashboard of an invented host",
		Long: `Show the dashboard of an invented host: 30 days of history with failing jobs and a
change of the clock, and a ring of three. Try every key: nothing is really run, and
nothing is left when you quit. It needs no daemon, no files and no privileges.

The engine of cronringd makes the history, and time goes on while the dashboard is
open. cronringd has to be installed beside cronring.`,
		Example: "  cronring demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo(a, cmd, f) },
	}
	cmd.Flags().BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters alone")
	a.AddColor(cmd)
	return cmd
}

// demo shows the dashboard of a host that cronringd plays.
func demo(a *cli.App, cmd *cobra.Command, f *topFlags) error {
	if !CanShow(a) {
		return top(a, cmd, f) // which says why not
	}
	end, err := startBeside(a, cmd, "--demo", func(context.Context) (net.Conn, error) { return nil, errors.New("it has ended") })
	if err != nil {
		return fmt.Errorf("show the demo, which needs cronringd beside cronring: %w", err)
	}
	defer end()
	a.Demo = true
	return top(a, cmd, f)
}
