package runs

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// NewRetry returns the command retry.
func NewRetry(a *cli.App) *cobra.Command {
	var r api.RetryRequest
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "retry RUN|JOB|@failed... [--wait]",
		Short: "Run failed runs again, for the same occurrence",
		Long: `Run failed runs again for the same occurrence: with the same CRONRING_DUE and
CRONRING_INVOCATION_ID, starting with attempt 1. RUN is any run that has ended. JOB,
a set or a glob selects the newest failed run of each job. Retrying a run removes
it from the dead letters.

It is refused while a run of the same occurrence is under way, and where run would
be. With --wait the exit code is that of the first run which failed, as of run.`,
		Example: "  cronring retry 4213\n  cronring retry @failed --since -2h",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			client := a.Daemon()
			runs, err := withProgress(cmd.Context(), a, client, r.Refs, r.Wait, func() ([]job.Run, error) { return client.Retry(cmd.Context(), r) })
			return endRuns(a, runs, err, r.Wait, out)
		},
	}
	a.AddPast(cmd, &r.Since, "since", "", "only jobs that failed after `T`: "+timeinput.Help)
	cmd.Flags().BoolVar(&r.Wait, "wait", false, "wait for the end")
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddZone(cmd, "of --since")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

// endRuns prints runs that were asked for, and makes the exit code of theirs if
// they were waited for.
func endRuns(a *cli.App, runs []job.Run, err error, waited bool, out *cli.Output) error {
	if err == nil {
		err = printRuns(a, runs, out, (*job.Run).ResultOrState)
	}
	switch {
	case !waited:
		return err
	case err != nil:
		a.Report(err)
		return cli.ExitCode(cli.ExitWaitFailed)
	}
	for i := range runs {
		if code := exitOf(&runs[i]); code != cli.ExitDone {
			return cli.ExitCode(code)
		}
	}
	return nil
}
