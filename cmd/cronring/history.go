package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/amount"
	"github.com/cronring/cronring/tui/safe"
)

// historyFlags are the flags of history that need reading.
type historyFlags struct {
	filter       api.Filter
	since, until string
	trigger      *choice
	out          *output
}

// triggers are what runs are caused by.
var triggers = []string{
	string(job.TriggerClock), string(job.TriggerBoot), string(job.TriggerManual), string(job.TriggerRetry),
	string(job.TriggerCatchup), string(job.TriggerBackfill), string(job.TriggerDependency),
}

func newHistory(a *app) *cobra.Command {
	f := &historyFlags{trigger: &choice{words: triggers}}
	cmd := &cobra.Command{
		Use:     "history [JOB...]",
		Short:   "List past and present runs, the newest first",
		Example: "  cronring history backup --failed --since -7d\n  cronring history --skipped",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.filter.Refs = args
			return a.history(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.filter.Failed, "failed", false, "only runs that failed")
	flags.BoolVar(&f.filter.Live, "running", false, "only runs that have not ended")
	flags.BoolVar(&f.filter.Skipped, "skipped", false, "occurrences that were not run, and why, instead of runs")
	flags.Var(f.trigger, "trigger", "only runs caused by `WORD`: "+strings.Join(triggers, ", "))
	flags.StringVar(&f.since, "since", "", "only from `T` on: "+whenHelp)
	flags.StringVar(&f.until, "until", "", "only before `T`")
	flags.IntVarP(&f.filter.Limit, "number", "n", 0, "at most `N` (default 100)")
	flags.StringVar(&f.filter.Node, "node", "", "also of the other members of the ring, with \"all\", or of the one `NAME`d; for root")
	cmd.MarkFlagsMutuallyExclusive("failed", "running", "skipped")
	f.out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL)
	a.addSelection(cmd, f.out, api.Runs{})
	a.addPager(cmd)
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) history(cmd *cobra.Command, f *historyFlags) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	f.filter.Trigger = job.Trigger(f.trigger.word)
	if f.filter.Since, err = a.flagTime("since", f.since, loc); err != nil {
		return err
	}
	if f.filter.Until, err = a.flagTime("until", f.until, loc); err != nil {
		return err
	}
	runs, err := a.daemon().History(cmd.Context(), f.filter)
	if err != nil {
		return err
	}
	for _, who := range runs.Missing {
		a.say("left out: %s", safe.Text(who))
	}
	end := a.page()
	defer end()
	switch {
	case f.out.word == formJSON:
		return a.printJSON(runs)
	case f.out.word == formJSONL && f.filter.Skipped:
		return printLines(a, runs.Skipped)
	case f.out.word == formJSONL:
		return printLines(a, runs.Runs)
	case f.filter.Skipped:
		a.printTable(skipTable(runs.Skipped, f.out, loc), f.out)
	default:
		a.printTable(a.runTable(runs.Runs, f.out, loc), f.out)
	}
	return nil
}

func (a *app) runTable(runs []job.Run, out *output, loc *time.Location) *table {
	t := &table{header: []string{"run", "job", "due", "started", "outcome", "took", "trigger", "attempt", "by", "cpu", "memory", "read", "written", "note"}}
	form := stampPlain
	if out.forEyes() {
		form = "Mon 01-02 15:04:05"
	}
	for i := range runs {
		r := &runs[i]
		t.add(r.ID.String(), string(r.Job), formatTime(r.Due, form, loc), formatTime(r.Started, form, loc), r.Standing(), a.took(r),
			string(r.Trigger), strconv.Itoa(r.Attempt), r.By,
			cpuTime(r.Usage.CPU), amount.Bytes(r.Usage.Memory), amount.Bytes(r.Usage.Read), amount.Bytes(r.Usage.Write), askedText(r))
		t.rows[i][4].tone = runTone(r)
	}
	t.addNodes(runs)
	return t
}

// askedText is what a person wanted of a run, beside that it runs.
func askedText(r *job.Run) string {
	var parts []string
	if r.Stop != nil {
		parts = append(parts, "stopped "+r.Stop.Words())
	}
	if len(r.Env) > 0 {
		parts = append(parts, "env "+strings.Join(r.Env, " "))
	}
	return strings.Join(parts, "; ")
}

// addNodes says of runs whose they are, where some are of other members.
func (t *table) addNodes(runs []job.Run) {
	if !slices.ContainsFunc(runs, func(r job.Run) bool { return r.Node != "" }) {
		return
	}
	t.header = append(t.header, "node")
	for i := range runs {
		t.rows[i] = append(t.rows[i], cell{text: cmp.Or(runs[i].Node, "here")})
	}
}

func runTone(r *job.Run) tone {
	switch {
	case r.State.Live():
		return busy
	case r.State == job.RunDropped:
		return faint
	case r.OK():
		return good
	case !r.Failed():
		return faint
	}
	return bad
}

func skipTable(skipped []job.Record, out *output, loc *time.Location) *table {
	t := &table{header: []string{"job", "due", "count", "reason", "detail"}}
	form := stampPlain
	if out.forEyes() {
		form = "Mon 01-02 15:04:05"
	}
	for _, r := range skipped {
		reason := string(r.Reason)
		if out.forEyes() {
			reason = r.Reason.Sentence()
		}
		t.add(string(r.Job), formatTime(r.Due, form, loc), strconv.Itoa(max(r.Count, 1)), reason, r.Detail)
	}
	return t
}
