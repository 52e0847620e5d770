package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

func newShow(a *app) *cobra.Command {
	var out *output
	var property string
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Tell everything about one job",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			j, err := a.daemon().Show(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch {
			case property != "":
				return a.printProperty(j, property)
			case out.word == formJSON:
				return a.printJSON(j)
			}
			a.printJob(j, loc)
			return nil
		},
	}
	cmd.Flags().StringVarP(&property, "property", "p", "", "only the value of `FIELD`, one of those that --json names")
	out = a.textOutput(cmd, formText, formJSON)
	a.addSelection(cmd, out, api.Job{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) printJob(j api.Job, loc *time.Location) {
	look := stateLook[j.State]
	a.printf("%s  %s\n", safe.Text(string(j.Job.ID)), a.paint(look.tone, stateSign(j.State)+" "+string(j.State)))
	a.printField("schedule", startsOn(&j.Job)+"   "+j.Meaning)
	a.printField("zone", j.Job.Zone)
	a.printField("source", fmt.Sprintf("%s:%d", j.Job.Table, j.Job.Line))
	a.printField("user", j.Job.User)
	a.printField("command", j.Job.Command)
	a.printField("stdin", j.Job.Stdin)
	a.printField("env", strings.Join(j.Job.Env, "  "))
	a.printField("options", optionText(j.Job.Options))
	a.printField("held", j.Job.Held)
	a.printField("degraded", j.Job.Degraded)
	a.printField("late", j.Trouble)
	if j.Hold != nil {
		a.printField("paused", "by "+j.Hold.By+pauseEnd(j.Hold, loc)+because(j.Hold.Reason))
	}
	if j.Ack != nil {
		a.printField("seen", fmt.Sprintf("that run %d failed, by %s at %s", j.Ack.Run, j.Ack.By, j.Ack.At.In(loc).Format(stampEyes))+because(j.Ack.Reason))
	}
	for i := range j.Running {
		a.printLive(&j.Running[i], loc)
	}
	for i := range j.Recent {
		r := &j.Recent[i]
		a.printField(fieldOnce(i, "last"), fmt.Sprintf("run %d  %s  %s in %s", r.ID, r.Started.In(loc).Format(stampEyes), r.Standing(), a.took(r))+used(&r.Usage))
	}
	if e := j.Elsewhere; e != nil {
		a.printField("since", fmt.Sprintf("%s took the occurrence of %s    cronring history --node %s %s", e.Node, e.Due.In(loc).Format(stampEyes), e.Node, j.Job.ID))
	}
	for i, t := range j.Upcoming {
		on := ""
		if i == 0 && j.Node != "" {
			on = " on " + j.Node
		}
		a.printField(fieldOnce(i, "next"), t.In(loc).Format(stampEyes)+"  "+a.until(t)+on)
	}
	for _, d := range j.Diagnostics {
		a.printRemark(d)
	}
}

// printLive tells of a run that has not ended: for how long it has been running,
// or what it waits for.
func (a *app) printLive(r *job.Run, loc *time.Location) {
	switch {
	case r.State == job.RunRunning:
		a.printField("running", fmt.Sprintf("run %d, for %s, pid %d", r.ID, a.took(r), r.PID))
	case r.State == job.RunDecided:
		a.printField("starting", fmt.Sprintf("run %d, now", r.ID))
	case r.Reason == job.WaitsForDelay || r.Reason == job.WaitsForRetry:
		a.printField("waiting", fmt.Sprintf("run %d, until %s, %s    %s", r.ID, r.NotBefore.In(loc).Format(stampEyes), a.until(r.NotBefore), r.Reason.Sentence()))
	default:
		a.printField("waiting", fmt.Sprintf("run %d    %s", r.ID, r.Reason.Sentence()))
	}
}

func optionText(options map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(options)) {
		fmt.Fprintf(&b, "%s=%s  ", key, options[key])
	}
	return strings.TrimSpace(b.String())
}
