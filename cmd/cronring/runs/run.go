package runs

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewRun returns the command run.
func NewRun(a *cli.App) *cobra.Command {
	var r api.RunRequest
	var out *cli.Output
	follow := false
	cmd := &cobra.Command{
		Use:   "run JOB... [--wait|--follow] [--env K=V]...",
		Short: "Run jobs now, as their user, in their environment",
		Long: `Run jobs now, as their user, in their environment.

It is refused while a job is paused, held, disabled, or running where overlap=
forbids a second run; --force runs it all the same.

--env sets variables for this run alone, overriding the crontab. Retries have them
too, and so does a run that waits in a queue or outlives the daemon. The history
shows them to everyone who may see the run, so do not use them for secrets. Names
that the daemon sets or uses (CRONRING_*, PATH, HOME, SHELL, MAILTO ...) are
refused.

With --wait or --follow the exit code is the job's own, retries included, or 128+n if signal
n ended it; for several jobs, that of the first which failed. It is 0 if ok= or
skip-code= of the entry include it. Errors of cronring itself are 125. --wait shows
progress on stderr: on a terminal as a bar scaled to the 95th percentile of the last
30 days, otherwise as a line each 10 seconds; -q prints nothing. Ctrl-C ends the
waiting, not the runs, with exit code 130.`,
		Example: "  cronring run backup --wait\n  cronring run report --env FULL=yes --env MONTH=2026-10",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Refs = args
			if err := job.CheckEnv(r.Env); err != nil {
				return cli.UsageError("run with such an environment", err.Error(), "cronring run --help")
			}
			if follow {
				return followRun(cmd.Context(), a, r)
			}
			return runJobs(a, cmd, r, out)
		},
	}
	cmd.Flags().BoolVar(&r.Wait, "wait", false, "wait for the end")
	cmd.Flags().BoolVar(&follow, "follow", false, "of one job: wait, and print what it writes meanwhile")
	cmd.MarkFlagsMutuallyExclusive("wait", "follow")
	cmd.Flags().BoolVar(&r.Force, "force", false, "run also when paused, disabled or overlapping")
	cmd.Flags().StringArrayVar(&r.Env, "env", nil, "set a variable for this run: `NAME=VALUE`")
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func runJobs(a *cli.App, cmd *cobra.Command, r api.RunRequest, out *cli.Output) error {
	client := a.Daemon()
	runs, err := withProgress(cmd.Context(), a, client, r.Refs, r.Wait, func() ([]job.Run, error) { return client.Run(cmd.Context(), r) })
	return endRuns(a, runs, err, r.Wait, out)
}

// followRun runs one job and prints what its attempts write.
func followRun(ctx context.Context, a *cli.App, r api.RunRequest) error {
	last, err := followAttempts(ctx, a, a.Daemon(), r)
	if err != nil {
		a.Report(err)
		return cli.ExitCode(cli.ExitWaitFailed)
	}
	a.Out.Flush() // to keep the order of output; a write error is reported at the end
	a.Infof("run %d of %s: %s%s", last.ID, display.Text(string(last.Job)), display.Text(last.ResultOrState()), a.TookSuffix(last))
	if code := exitOf(last); code != cli.ExitDone {
		return cli.ExitCode(code)
	}
	return nil
}

func followAttempts(ctx context.Context, a *cli.App, client *api.Client, r api.RunRequest) (*job.Run, error) {
	jobs, err := client.List(ctx, api.Query{Refs: r.Refs})
	if err != nil {
		return nil, err
	}
	if len(jobs) != 1 {
		return nil, cli.UsageError("follow "+display.Count(len(jobs), "job")+" at once", "what they write would be mixed up", "name one, or: cronring run JOB... --wait")
	}
	runs, err := client.Run(ctx, r)
	if err != nil {
		return nil, err
	}
	attempt := &runs[0]
	for {
		f := &logFlags{follow: true, stream: cli.OneOf("all"), out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}}
		last, err := printOutput(ctx, a, client, attempt.ID.String(), f, time.UTC)
		if err != nil || last == nil {
			return attempt, err
		}
		if last.Verdict != job.VerdictRetry {
			return last, nil
		}
		a.Infof("attempt %d: %s, another one follows", last.Attempt, display.Text(last.Result()))
		if attempt, err = nextAttempt(ctx, client, last); attempt == nil {
			return last, err
		}
	}
}

// nextAttempt is the live attempt that follows one, or nil.
func nextAttempt(ctx context.Context, client *api.Client, after *job.Run) (*job.Run, error) {
	live, err := client.History(ctx, api.Filter{Refs: []string{string(after.Job)}, Live: true})
	for i := range live.Runs {
		if r := &live.Runs[i]; r.Invocation == after.Invocation && r.ID != after.ID {
			return r, nil
		}
	}
	return nil, err
}

// exitOf is the exit code that stands for the end of a run.
func exitOf(r *job.Run) int {
	switch o := r.Outcome; {
	case r.State != job.RunEnded:
		return cli.ExitWaitFailed
	case !r.Failed():
		return cli.ExitDone
	case o.Kind == job.Exited && o.Code != 0:
		return o.Code
	case o.Signal != 0:
		return 128 + o.Signal
	}
	return cli.ExitWaitFailed
}

// printRuns writes one line for each run; state is the word for how far it is.
func printRuns(a *cli.App, runs []job.Run, out *cli.Output, state func(*job.Run) string) error {
	switch out.Value {
	case cli.FormJSON:
		return a.PrintJSON(api.Runs{V: api.Version, Runs: runs})
	case cli.FormJSONL:
		return cli.PrintLines(a, runs)
	}
	for i := range runs {
		r := &runs[i]
		if out.Value == cli.FormName {
			a.Printf("%d\n", r.ID)
			continue
		}
		a.Printf("run %d  %s  %s", r.ID, display.Text(string(r.Job)), a.Paint(runTone(r), display.Text(state(r))))
		if !r.Ended.IsZero() {
			a.Printf("%s", a.TookSuffix(r))
		}
		a.Printf("    cronring logs %d\n", r.ID)
	}
	return nil
}
