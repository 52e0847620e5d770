package jobs

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// NewAck returns the command ack.
func NewAck(a *cli.App) *cobra.Command {
	var r api.AckRequest
	cmd := &cobra.Command{
		Use:   "ack JOB...|--all [--reason TEXT]",
		Short: "Acknowledge that jobs failed",
		Long: `Acknowledge that jobs failed: until they fail again they do not count as
failing, in lists, in status --check and on the dashboard. It outlives restarts
of the daemon and of the host.`,
		Example: "  cronring ack geoip-update --reason 'the mirror is down until Monday'\n  cronring ack --all\n  cronring ack --undo geoip-update",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if r.All == (len(args) > 0) {
				return cli.UsageError("acknowledge failures", "name jobs, or use --all: expected one of the two", "cronring ack @failed")
			}
			jobs, err := a.Daemon().Ack(cmd.Context(), r)
			if err != nil {
				return err
			}
			if r.Undo {
				printChanged(a, "no longer acknowledged", jobs)
			} else {
				printChanged(a, "acknowledged", jobs)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "all jobs that fail")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "record a reason: `TEXT`")
	cmd.Flags().BoolVar(&r.Undo, "undo", false, "undo: they count as failing again")
	cmd.MarkFlagsMutuallyExclusive("reason", "undo")
	return cmd
}
