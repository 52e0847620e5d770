package host

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
)

// NewPing returns the command ping.
func NewPing(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ping",
		Short: "Ask whether the daemon answers, and how fast",
		Long: `Ask whether the daemon answers, and how fast. It is asked nothing about jobs, so
that every account may. The exit code is 5 if it does not answer.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			h, err := a.Daemon().Health(cmd.Context())
			if err != nil {
				return err
			}
			took := time.Since(began).Round(10 * time.Microsecond)
			a.Printf("cronringd %s on %s answered in %s, up %s\n", display.Text(h.Version), display.Text(h.Host), took,
				display.Brief(a.Now().Sub(h.Started).Truncate(time.Second)))
			return nil
		},
	}
	return cmd
}
