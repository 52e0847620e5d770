package runs

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewDead returns the command dead and its subcommands.
func NewDead(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "List, retry or drop dead letters: runs that failed for good",
		Long: `List, retry or drop dead letters: runs whose last attempt failed, of jobs with
on-exhausted=dead, which is the default with retry=. A dead letter stays until it
is run again (dead retry) or dropped (dead drop).`,
		Example: "  cronring dead list\n  cronring logs 4213\n  cronring dead retry 4213",
	}
	cmd.AddCommand(newDeadList(a), newDeadRetry(a), newDeadDrop(a))
	return cmd
}

func newDeadList(a *cli.App) *cobra.Command {
	var q api.DeadLetterQuery
	var out *cli.Output
	cmd := &cobra.Command{
		Use:     "list [JOB...]",
		Short:   "List the dead letters, the newest first",
		Example: "  cronring dead list\n  cronring dead list 'etl*' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Refs = args
			return dead(a, cmd, q, out)
		},
	}
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N`; 100 if not given")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddSelection(cmd, out, api.DeadLetters{})
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func dead(a *cli.App, cmd *cobra.Command, q api.DeadLetterQuery, out *cli.Output) error {
	loc := a.Location()
	letters, err := a.Daemon().Dead(cmd.Context(), q)
	if err != nil {
		return err
	}
	t := &cli.Table{Header: []string{"run", "job", "since", "due", "attempts", "end"}}
	form := out.TimeForm(cli.LongTime)
	for i := range letters {
		l := &letters[i]
		t.Add(l.Run.ID.String(), string(l.Run.Job), cli.FormatTime(l.Since, form, loc), cli.FormatTime(l.Run.Due, form, loc), strconv.Itoa(l.Run.Attempt), l.Run.ResultOrState())
	}
	return cli.PrintList(a, out, api.DeadLetters{V: api.Version, List: letters}, letters, t)
}

func newDeadRetry(a *cli.App) *cobra.Command {
	var r api.DeadLetterRequest
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "retry RUN|JOB...|--all",
		Short: "Run dead letters again",
		Long: `Run dead letters again: RUN, or all dead letters of JOB. The new run is for the
same occurrence, with the same CRONRING_DUE and CRONRING_INVOCATION_ID, and
starts with its first attempt. The dead letter is removed as soon as the run is
decided.`,
		Example: "  cronring dead retry 4213",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if err := deadLetterArgs("retry dead letters", r); err != nil {
				return err
			}
			runs, err := a.Daemon().Redrive(cmd.Context(), r)
			if err != nil {
				return err
			}
			return printRuns(a, runs, out, func(r *job.Run) string { return string(r.State) })
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "all dead letters")
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddColor(cmd)
	return cmd
}

func newDeadDrop(a *cli.App) *cobra.Command {
	var r api.DeadLetterRequest
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "drop RUN|JOB...|--all",
		Short: "Discard dead letters",
		Long: `Discard dead letters: RUN, or all dead letters of JOB. The runs and their output
stay in the history for as long as those of other runs.`,
		Example: "  cronring dead drop 4213",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if err := deadLetterArgs("drop dead letters", r); err != nil {
				return err
			}
			letters, err := a.Daemon().Drop(cmd.Context(), r)
			switch {
			case err != nil:
				return err
			case out.Value == cli.FormJSON:
				return a.PrintJSON(api.DeadLetters{V: api.Version, List: letters})
			case out.Value == cli.FormJSONL:
				return cli.PrintLines(a, letters)
			}
			for _, l := range letters {
				a.Printf("discarded run %d of %s\n", l.Run.ID, display.Text(string(l.Run.Job)))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&r.All, "all", false, "all dead letters")
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL)
	return cmd
}

// deadLetterArgs returns an error unless the request names dead letters or is for all of
// them, and not both.
func deadLetterArgs(what string, r api.DeadLetterRequest) error {
	switch {
	case len(r.Refs) == 0 && !r.All:
		return cli.UsageError(what, "no run and no job is named", "cronring dead list")
	case len(r.Refs) > 0 && r.All:
		return cli.UsageError(what, "--all is for all dead letters, and some are named", "leave one of them out")
	}
	return nil
}
