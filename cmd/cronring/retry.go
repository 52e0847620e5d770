package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func newRetry(a *app) *cobra.Command {
	var r api.RetryRequest
	var since string
	var out *output
	cmd := &cobra.Command{
		Use:   "retry RUN|JOB|@failed... [--wait]",
		Short: "Run again what failed, as the same occurrence",
		Long: `Run again what failed, as the same occurrence: with the same CRONRING_DUE and
CRONRING_INVOCATION_ID, beginning anew with the first attempt. RUN is any run that
is over; of JOB, and of each job that a set or a glob names, it is the newest run
that failed. A dead letter that is run again is none any more.

It is refused while a run of the same occurrence is under way, and where run would
be. With --wait the exit code is that of the first run which failed, as of run.`,
		Example: "  cronring retry 4213\n  cronring retry @failed --since -2h",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			r.Refs = args
			if r.Since, err = a.flagTime("since", since, loc); err != nil {
				return err
			}
			runs, err := a.daemon().Retry(cmd.Context(), r)
			return a.endRuns(runs, err, r.Wait, out)
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "of jobs, leave out those that did not fail from `T` on: "+whenHelp)
	cmd.Flags().BoolVarP(&r.Wait, "wait", "w", false, "wait for the end")
	out = a.textOutput(cmd, formText, formJSON, formJSONL, formName)
	a.addZone(cmd, "of --since")
	a.addColor(cmd)
	return cmd
}

// endRuns prints runs that were asked for, and makes the exit code of theirs if
// they were waited for.
func (a *app) endRuns(runs []job.Run, err error, waited bool, out *output) error {
	if err == nil {
		err = a.printRuns(runs, out, (*job.Run).Standing)
	}
	switch {
	case !waited:
		return err
	case err != nil:
		a.report(err)
		return exit(exitWaitTrouble)
	}
	for i := range runs {
		if code := exitOf(&runs[i]); code != exitDone {
			return exit(code)
		}
	}
	return nil
}
