package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func newStop(a *app) *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:   "stop JOB|RUN...",
		Short: "End running jobs: TERM, then KILL",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client := a.dial()
			defer client.Close()
			runs, err := client.Stop(cmd.Context(), api.StopRequest{Refs: args})
			if err != nil {
				return err
			}
			return a.printRuns(runs, out, func(*job.Run) string { return "stopping" })
		},
	}
	out = a.textOutput(cmd, formText, formJSON, formJSONL, formName)
	a.addColor(cmd)
	a.addSocket(cmd)
	return cmd
}
