package runs

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// NewStop returns the command stop.
func NewStop(a *cli.App) *cobra.Command {
	var r api.StopRequest
	var grace cli.Duration
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "stop JOB|RUN... [--signal SIG] [--kill-after D]",
		Short: "End running jobs: TERM, then KILL",
		Long: `End active runs: with the signal of stop-signal= (default TERM), and with KILL
after 10 seconds, or stop-grace= if the entry sets it. A second stop sends KILL
immediately.

--signal and --kill-after override the entry's options. Queued runs are cancelled.
The history shows who stopped a run, and how.`,
		Example: "  cronring stop 4213 --signal INT --kill-after 2m",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Signal != "" {
				if _, err := option.ParseSignal(r.Signal); err != nil {
					return cli.UsageError("stop with the signal "+r.Signal, err.Error(), "cronring stop --signal TERM")
				}
			}
			if cmd.Flags().Changed("kill-after") && grace <= 0 {
				return cli.UsageError("stop with no time until KILL", "", "say it at once: --signal KILL")
			}
			r.Refs, r.KillAfter = args, time.Duration(grace)
			runs, err := a.Daemon().Stop(cmd.Context(), r)
			if err != nil {
				return err
			}
			return printRuns(a, runs, out, stopText)
		},
	}
	cmd.Flags().StringVar(&r.Signal, "signal", "", "the signal `SIG`, one of the values of stop-signal=")
	_ = cmd.RegisterFlagCompletionFunc("signal", cobra.FixedCompletions(option.SignalNames(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(&grace, "kill-after", "send KILL after `D`, at most 1d")
	cmd.Flags().Lookup("kill-after").DefValue = ""
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddColor(cmd)
	return cmd
}

// stopText describes how a run is being stopped.
func stopText(r *job.Run) string {
	switch {
	case r.Stop == nil:
		return "stopping"
	case !r.State.Live():
		return "stopped " + r.Stop.Detail().Words()
	}
	return "stopping " + r.Stop.Detail().Words()
}
