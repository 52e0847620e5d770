package jobs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// NewPause returns the command pause.
func NewPause(a *cli.App) *cobra.Command {
	var r api.PauseRequest
	var pause cli.Duration
	cmd := &cobra.Command{
		Use:     "pause JOB... [--from T] [--for D|--until T]",
		Short:   "Let jobs skip their occurrences",
		Long:    "Let jobs skip their occurrences. Runs that are going are not touched, and a\npause outlives restarts of the daemon and of the host. A job has one pause:\nanother one replaces it, unless it would end an active one. A clock time\nsuch as --until 06:00 is the next one after the pause begins.",
		Example: "  cronring pause 'etl*' --for 2h --reason 'pg-2 is being moved'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if pause > 0 {
				r.Until = cmp.Or(r.From, a.Now()).Add(time.Duration(pause))
			}
			jobs, err := a.Daemon().Pause(cmd.Context(), r)
			switch {
			case err != nil:
				return err
			case r.From.After(a.Now()):
				for _, id := range jobs {
					a.Printf("%s will be paused from %s\n", display.Text(string(id)), r.From.In(a.Location()).Format(cli.LongTime))
				}
			default:
				printChanged(a, "paused", jobs)
			}
			return nil
		},
	}
	cmd.Flags().Var(&pause, "for", "resume after `D`: 90s, 5m, 1h30m, 2d")
	cmd.Flags().Lookup("for").DefValue = ""
	a.AddEnd(cmd, &r.From, &r.Until, "until", "resume at `T`: "+timeinput.EndHelp)
	a.AddFuture(cmd, &r.From, "from", "begin at `T`, not now")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "record a reason: `TEXT`")
	cmd.MarkFlagsMutuallyExclusive("for", "until")
	a.AddZone(cmd, "of --from and --until")
	return cmd
}

// NewSkip returns the command skip.
func NewSkip(a *cli.App) *cobra.Command {
	r := api.PauseRequest{Next: 1}
	cmd := &cobra.Command{
		Use:     "skip JOB... [--next N]",
		Short:   "Let jobs skip their next occurrences",
		Long:    "Let jobs skip their next occurrences. This is a pause that ends after them and\ncovers nothing else: \"cronring run\" starts the jobs meanwhile. A second skip\nadds to the first, and \"cronring resume\" ends it.",
		Example: "  cronring skip report --reason 'the disk is being replaced'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Next < 1 || r.Next > api.MostSkipped { // the server takes 0 as a pause
				return cli.UsageError("skip occurrences", fmt.Sprintf("invalid --next %d: expected 1 to %d", r.Next, api.MostSkipped), "")
			}
			r.Refs = args
			jobs, err := a.Daemon().Pause(cmd.Context(), r)
			if err != nil {
				return err
			}
			skipped := "next occurrence"
			if r.Next > 1 {
				skipped = fmt.Sprintf("next %d occurrences", r.Next)
			}
			for _, id := range jobs {
				a.Printf("%s will skip its %s\n", display.Text(string(id)), skipped)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&r.Next, "next", 1, "skip `N` occurrences, at most 1000")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "record a reason: `TEXT`")
	return cmd
}

func printChanged(a *cli.App, what string, jobs []job.ID) {
	for _, id := range jobs {
		a.Printf("%s %s\n", what, display.Text(string(id)))
	}
}
