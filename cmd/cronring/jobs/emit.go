package jobs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/wake"
)

// emitPatience limits the time that emit waits for a daemon that is restarted, so that the event is not lost.
const emitPatience = 30 * time.Second

// emitPause is the time between two attempts.
const emitPause = time.Second

// NewEmit returns the command emit.
func NewEmit(a *cli.App) *cobra.Command {
	var r api.EmitRequest
	list := false
	cmd := &cobra.Command{
		Use:   "emit EVENT [NAME=VALUE]... | --list",
		Short: "Emit an event, which starts the jobs that list it in on=",
		Long: `Emit an event, which starts the jobs that list it in on=.

An event belongs to the user who emits it. It starts jobs of that user with
on=event:EVENT, and jobs of any user with on=event:USER/EVENT. The events of root and
of administrators start the jobs of all users with on=event:EVENT; --user emits one as
another user would.

The values are in the environment of the runs, as CRONRING_EVENT_NAME. The history
shows them, so do not use them for secrets.

If the daemon is being restarted, the command waits for it for up to 30 seconds. When
it succeeds, the runs are stored.

--list shows which events were emitted, and how often.`,
		Example: "  cronring emit data-ready file=/srv/in/today.csv\n  cronring emit --list",
	}
	cmd.Flags().StringVar(&r.User, "user", "", "emit it as this `USER`")
	cmd.Flags().BoolVar(&list, "list", false, "show the events that were emitted")
	cmd.MarkFlagsMutuallyExclusive("user", "list")
	out := a.ListOutput(cmd, cli.FormTable, cli.FormJSON)
	a.AddQuiet(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if list {
			return cobra.NoArgs(cmd, args)
		}
		return cobra.MinimumNArgs(1)(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if list {
			return listEmissions(a, cmd.Context(), out)
		}
		r.Event, r.Env = args[0], args[1:]
		return emit(a, cmd.Context(), r, out)
	}
	return cmd
}

func emit(a *cli.App, ctx context.Context, r api.EmitRequest, out *cli.Output) error {
	if err := option.CheckName(r.Event); err != nil {
		return cli.UsageError("emit "+strconv.Quote(r.Event), err.Error(), "cronring emit --help")
	}
	if _, err := job.EventEnv(r.Env); err != nil {
		return cli.UsageError("emit with such values", err.Error(), "cronring emit --help")
	}
	e, err := emitPatiently(a, ctx, r)
	if err != nil {
		return err
	}
	return a.PrintAnswer(out, e, func() {
		a.Infof("%s of %s: %s", display.Text(e.Event), display.Text(e.User), display.Count(len(e.Runs), "run"))
		for _, run := range e.Runs {
			a.Infof("run %s of %s: %s", run.ID, display.Text(string(run.Job)), display.Text(run.ResultOrState()))
		}
	})
}

// emitPatiently tries again while no daemon answers, for as long as a restart takes.
func emitPatiently(a *cli.App, ctx context.Context, r api.EmitRequest) (api.Emitted, error) {
	patience, cancel := context.WithTimeout(ctx, emitPatience)
	defer cancel()
	for {
		e, err := a.Daemon().Emit(ctx, r)
		if refusal, ok := errors.AsType[*api.Error](err); !ok || refusal.Kind != api.Unreachable {
			return e, err
		}
		if wake.Sleep(patience, emitPause) != nil {
			return e, err
		}
	}
}

func listEmissions(a *cli.App, ctx context.Context, out *cli.Output) error {
	all, err := a.Daemon().Emissions(ctx)
	if err != nil {
		return err
	}
	t := &cli.Table{Header: []string{"event", "user", "times", "last"}}
	for _, e := range all.Events {
		t.Add(display.Text(e.Name), display.Text(e.User), strconv.FormatInt(e.Times, 10), a.FromNow(e.Last))
	}
	return cli.PrintList(a, out, all, all.Events, t)
}
