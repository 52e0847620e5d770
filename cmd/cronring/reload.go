package main

import (
	"github.com/spf13/cobra"
)

func newReload(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon read its crontab files again",
		Long: `Make the daemon read its crontab files again, and print its remarks on them.

Jobs that did not change neither run again nor skip, and running ones go on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			remarks, err := a.daemon().Reload(cmd.Context())
			if err != nil {
				return err
			}
			for _, d := range remarks {
				a.printRemark(d)
			}
			a.say("reloaded, %s", counts(remarks))
			return nil
		},
	}
	a.addColor(cmd)
	a.addQuiet(cmd)
	return cmd
}
