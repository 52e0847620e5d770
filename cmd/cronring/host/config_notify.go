package host

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
)

func newConfigNotify(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify CHANNEL",
		Short: "Send a test notification through a channel",
		Long: `Send one test notification through a channel of the configuration, without
waiting for a job to fail, and report whether the channel accepted it. A mail
goes to the queue like all mail.

Only root may do this.`,
		Example: "  cronring config notify ops",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.Daemon().Notify(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.Infof("channel %s accepted a test notification", display.Text(args[0]))
			return nil
		},
	}
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}
