package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// NewShow returns the command show.
func NewShow(a *cli.App) *cobra.Command {
	var out *cli.Output
	var property string
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show everything about one job",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			j, err := a.Daemon().Show(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if property != "" {
				return a.PrintProperty(j, property)
			}
			return a.PrintAnswer(out, j, func() { printJob(a, j, loc) })
		},
	}
	cmd.Flags().StringVarP(&property, "property", "p", "", "only the value of `FIELD`, one of the fields that --json=? lists")
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddSelection(cmd, out, api.Job{})
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func printJob(a *cli.App, j api.Job, loc *time.Location) {
	look := cli.StateLook[j.State]
	a.Printf("%s  %s\n", display.Text(string(j.Job.ID)), a.Paint(look.Tone, cli.StateSign(j.State)+" "+display.Text(string(j.State))))
	a.PrintField("about", j.Job.Options["desc"])
	a.PrintField("ask", j.Job.Options["owner"])
	a.PrintField("schedule", j.Job.StartsOn()+"   "+j.Meaning)
	a.PrintField("zone", j.Job.Zone)
	a.PrintField("source", fmt.Sprintf("%s:%d", j.Job.Crontab, j.Job.Line))
	a.PrintField("user", j.Job.User)
	a.PrintField("command", j.Job.Command)
	a.PrintField("stdin", j.Job.Stdin)
	a.PrintField("env", strings.Join(j.Job.Env, "  "))
	a.PrintField("options", optionText(j.Job.Options))
	a.PrintField("held", j.Job.Held)
	a.PrintField("degraded", j.Job.Degraded)
	a.PrintField("late", j.Problem)
	if j.Hold != nil {
		a.PrintField("paused", "by "+j.Hold.By+cli.PauseEnd(j.Hold, loc)+cli.ReasonSuffix(j.Hold.Reason.Words()))
	}
	if h := j.Planned; h != nil {
		a.PrintField("planned pause", "by "+h.By+cli.PauseEnd(h, loc)+cli.ReasonSuffix(h.Reason.Words()))
	}
	if j.Ack != nil {
		a.PrintField("seen", fmt.Sprintf("that run %d failed, by %s at %s", j.Ack.Run, j.Ack.By, j.Ack.At.In(loc).Format(cli.LongTime))+cli.ReasonSuffix(j.Ack.Reason))
	}
	for i := range j.Running {
		printLive(a, &j.Running[i], loc)
	}
	for i := range j.Recent {
		a.PrintField(cli.FirstOnly(i, "last"), recentText(a, &j.Recent[i], loc))
	}
	if e := j.Elsewhere; e != nil {
		a.PrintField("since", fmt.Sprintf("%s took the occurrence of %s    cronring history --member %s %s", e.Node, e.Due.In(loc).Format(cli.LongTime), e.Node, j.Job.ID))
	}
	for i, t := range j.Upcoming {
		on := ""
		if i == 0 && j.Node != "" {
			on = " on " + j.Node
		}
		a.PrintField(cli.FirstOnly(i, "next"), t.In(loc).Format(cli.LongTime)+"  "+a.FromNow(t)+on)
	}
	for _, d := range j.Diagnostics {
		a.PrintDiagnostic(d)
	}
}

// recentText describes a run that has ended. A run that could not be started has only an end.
func recentText(a *cli.App, r *job.Run, loc *time.Location) string {
	at := r.Started
	if at.IsZero() {
		at = r.Ended
	}
	return fmt.Sprintf("run %d  %s  %s%s", r.ID, at.In(loc).Format(cli.LongTime), r.ResultOrState(), a.TookSuffix(r)) + cli.Used(&r.Usage)
}

// printLive prints for how long a run has been running, or what it waits for.
func printLive(a *cli.App, r *job.Run, loc *time.Location) {
	switch {
	case r.State == job.RunRunning:
		a.PrintField("running", fmt.Sprintf("run %d, for %s, pid %d", r.ID, a.Took(r), r.PID))
	case r.State == job.RunDecided:
		a.PrintField("starting", fmt.Sprintf("run %d, now", r.ID))
	case r.WaitsOn() == job.WaitsOnDelay || r.WaitsOn() == job.WaitsOnHours || r.WaitsOn() == job.WaitsOnRetry:
		a.PrintField("waiting", fmt.Sprintf("run %d, until %s, %s    %s", r.ID, r.NotBefore.In(loc).Format(cli.LongTime), a.FromNow(r.NotBefore), r.Reason.Sentence()))
	default:
		a.PrintField("waiting", fmt.Sprintf("run %d    %s", r.ID, r.Reason.Sentence()))
	}
}

// optionText writes options so that they can be pasted into a directive line.
func optionText(options map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		words = append(words, option.Written(key, options[key]))
	}
	return strings.Join(words, "  ")
}
