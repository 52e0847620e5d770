package crontabs

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// NewReload returns the command reload.
func NewReload(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon read its crontab files again",
		Long: `Make the daemon read its crontab files again, and print the diagnostics.

Unchanged jobs neither run again nor skip a run, and active runs continue.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			diagnostics, err := a.Daemon().Reload(cmd.Context())
			if e, ok := errors.AsType[*api.Error](err); ok && e.Kind == api.Internal { // some files are refused; those of the others count
				diagnostics, _ = a.Daemon().Diagnostics(cmd.Context())
			}
			for _, d := range diagnostics {
				a.PrintDiagnostic(d)
			}
			if err != nil {
				return err
			}
			a.Infof("reloaded, %s", cli.CountDiagnostics(diagnostics))
			return nil
		},
	}
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}
