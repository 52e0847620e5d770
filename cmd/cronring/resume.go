package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

func newResume(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "resume JOB...",
		Short:   "End pauses, and what breaker= holds",
		Example: "  cronring resume @paused",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := a.daemon().Resume(cmd.Context(), api.ResumeRequest{Refs: args})
			if err == nil {
				a.printChanged("resumed", jobs)
			}
			return err
		},
	}
	return cmd
}
