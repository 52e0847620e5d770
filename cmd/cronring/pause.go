package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

func newPause(a *app) *cobra.Command {
	var r api.PauseRequest
	var pause durationFlag
	var until string
	cmd := &cobra.Command{
		Use:     "pause JOB... [--for D|--until T]",
		Short:   "Let jobs skip their occurrences",
		Long:    "Let jobs skip their occurrences. Runs that are going are not touched, and a\npause outlives restarts of the daemon and of the host.",
		Example: "  cronring pause 'etl*' --for 2h --reason 'pg-2 is being moved'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			loc, err := a.location()
			if err != nil {
				return err
			}
			if r.Until, err = a.flagTime("until", until, loc); err != nil {
				return err
			}
			if pause > 0 {
				r.Until = a.now().Add(time.Duration(pause))
			}
			jobs, err := a.daemon().Pause(cmd.Context(), r)
			if err == nil {
				a.printChanged("paused", jobs)
			}
			return err
		},
	}
	cmd.Flags().Var(&pause, "for", "resume after `D`: 90s, 5m, 1h30m, 2d")
	cmd.Flags().Lookup("for").DefValue = ""
	cmd.Flags().StringVar(&until, "until", "", "resume at `T`: "+whenHelp)
	cmd.Flags().StringVar(&r.Reason, "reason", "", "say why, for those who find it paused: `TEXT`")
	cmd.MarkFlagsMutuallyExclusive("for", "until")
	a.addZone(cmd, "of --until")
	return cmd
}

func (a *app) printChanged(what string, jobs []job.ID) {
	for _, id := range jobs {
		a.printf("%s %s\n", what, safe.Text(string(id)))
	}
}
