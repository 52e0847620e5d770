package host

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
)

// NewNotify returns the command notify.
func NewNotify(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify CHANNEL",
		Short: "Send a test notice through a channel of the configuration",
		Long: `Send a test notice through a channel of the configuration, once and at once,
and say whether the channel took it. A letter is queued like all mail.

Only root may.`,
		Example: "  cronring notify ops",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.Daemon().Notify(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.Infof("channel %s took a test notice", display.Text(args[0]))
			return nil
		},
	}
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}
