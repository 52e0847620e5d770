package jobs

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// NewResume returns the command resume.
func NewResume(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume JOB...",
		Short:   "End pauses, and what breaker= holds",
		Example: "  cronring resume @paused",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := a.Daemon().Resume(cmd.Context(), api.ResumeRequest{Refs: args})
			if err == nil {
				printChanged(a, "resumed", jobs)
			}
			return err
		},
	}
	return cmd
}
