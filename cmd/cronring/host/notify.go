package host

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
)

// NewNotify returns the command notify and its subcommand.
func NewNotify(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Test the notification channels of the configuration",
	}
	cmd.AddCommand(newNotifyTest(a))
	return cmd
}

func newNotifyTest(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test CHANNEL",
		Short: "Send a test notification through a channel",
		Long: `Send one test notification through a channel of the configuration, without
waiting for a job to fail, and report whether the channel accepted it. A mail
goes to the queue like all mail.

Only root may do this.`,
		Example: "  cronring notify test ops",
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
