package jobs

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// NewBeat returns the command beat.
func NewBeat(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "beat",
		Short: "Report from inside a job that it makes progress",
		Long: `Report from inside a job that it makes progress: a run of an entry with
watchdog=DURATION is stopped if it does not do so for that long. The command finds
its run by CRONRING_RUN_ID, and only processes of that run can report for it.
Without watchdog= it has no effect.`,
		Example: "  while read -r file; do process \"$file\" && cronring beat || exit; done",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			run, err := strconv.ParseInt(os.Getenv("CRONRING_RUN_ID"), 10, 64)
			if err != nil {
				return cli.Invalid("cannot find the run: CRONRING_RUN_ID is not set to its number", "cronring sets it for each run", "run cronring beat inside a job")
			}
			return a.Daemon().Beat(cmd.Context(), api.BeatRequest{Run: job.RunID(run)})
		},
	}
}
