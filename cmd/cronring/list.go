package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

func newList(a *app) *cobra.Command {
	var q api.Query
	var states []string
	var out *output
	cmd := &cobra.Command{
		Use:     "list [JOB...]",
		Aliases: []string{"ls"},
		Short:   "List jobs, the worst first",
		Example: "  cronring list 'etl*'\n  cronring list --state failing -o name",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Refs = args
			for _, s := range states {
				q.States = append(q.States, job.State(s))
			}
			return a.list(cmd, q, out)
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only jobs in `STATE`: failing, late, running, held, disabled, ok, new")
	cmd.Flags().StringVar(&q.User, "user", "", "only jobs of the account `NAME`")
	cmd.Flags().StringVar(&q.Table, "file", "", "only jobs of the crontab file `FILE`")
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL, formName)
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	a.addSocket(cmd)
	return cmd
}

func (a *app) list(cmd *cobra.Command, q api.Query, out *output) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	if err := checkStates(q.States); err != nil {
		return err
	}
	client := a.dial()
	defer client.Close()
	jobs, err := client.List(cmd.Context(), q)
	if err != nil {
		return err
	}
	switch out.word {
	case formJSON:
		return a.printJSON(api.Jobs{V: api.Version, Jobs: jobs})
	case formJSONL:
		return printLines(a, jobs)
	case formName:
		for _, j := range jobs {
			a.printf("%s\n", safe.Text(string(j.Job.ID)))
		}
		return nil
	}
	a.printTable(a.jobTable(jobs, out, loc), out)
	return nil
}

func checkStates(states []job.State) error {
	for _, s := range states {
		if _, ok := stateLook[s]; !ok {
			return badUsage(fmt.Sprintf("list jobs in state %q: no such state", s), "",
				"one of failing, late, running, held, disabled, ok, new")
		}
	}
	return nil
}

func (a *app) jobTable(jobs []job.Status, out *output, loc *time.Location) *table {
	t := &table{header: []string{"state", "job", "schedule", "next", "last", "took", "user", "source", "command"}}
	for i := range jobs {
		j := &jobs[i]
		look := stateLook[j.State]
		t.add(string(j.State), string(j.Job.ID), startsOn(&j.Job), stamp(j.Next, loc), "", a.took(j.Last),
			j.Job.User, fmt.Sprintf("%s:%d", j.Job.Table, j.Job.Line), j.Job.Command)
		row := t.rows[len(t.rows)-1]
		if j.Last != nil {
			row[4].text = stamp(j.Last.Started, loc)
		}
		if out.forEyes() {
			row[0] = cell{stateSign(j.State) + " " + look.word, look.tone}
			row[3].text, row[4].text = when.Away(j.Next, a.now()), a.since(j.Last)
		}
	}
	return t
}

// startsOn is what starts a job, as written: its time fields, or the option in
// their place.
func startsOn(j *job.Job) string {
	return job.StartsOn(j.Schedule, func(key string) string { return j.Options[key] })
}

// since says how long ago a run began.
func (a *app) since(r *job.Run) string {
	if r == nil {
		return "never"
	}
	return when.Ago(r.Started, a.now())
}

// printLines writes one JSON object per line.
func printLines[T any](a *app, items []T) error {
	for i := range items {
		if err := a.printLine(items[i]); err != nil {
			return err
		}
	}
	return nil
}
