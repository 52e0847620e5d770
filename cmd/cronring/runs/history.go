package runs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/timeinput"
)

// historyFlags are the flags of history that need reading.
type historyFlags struct {
	filter  api.Filter
	actions bool
	trigger *cli.Choice
	out     *cli.Output
}

// triggers are the possible causes of runs.
var triggers = []string{
	string(job.TriggerClock), string(job.TriggerBoot), string(job.TriggerManual), string(job.TriggerRetry),
	string(job.TriggerCatchup), string(job.TriggerBackfill), string(job.TriggerDependency),
}

// NewHistory returns the command history.
func NewHistory(a *cli.App) *cobra.Command {
	f := &historyFlags{trigger: &cli.Choice{Values: triggers}}
	cmd := &cobra.Command{
		Use:     "history [JOB...]",
		Short:   "List past and present runs, the newest first",
		Example: "  cronring history backup --failed --since -7d\n  cronring history --skipped\n  cronring history --actions --since -7d",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.filter.Refs = args
			return history(a, cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.filter.Failed, "failed", false, "only runs that failed")
	flags.BoolVar(&f.filter.Live, "running", false, "only active runs")
	flags.BoolVar(&f.filter.Skipped, "skipped", false, "occurrences that were not run, and why, instead of runs")
	flags.BoolVar(&f.actions, "actions", false, "what users and files changed, instead of runs")
	flags.Var(f.trigger, "trigger", "only runs caused by `WORD`: "+strings.Join(triggers, ", "))
	a.AddPast(cmd, &f.filter.Since, "since", "", "only from `T` on: "+timeinput.Help)
	a.AddPast(cmd, &f.filter.Until, "until", "", "only before `T`")
	flags.IntVarP(&f.filter.Limit, "number", "n", 0, "at most `N` (default 100)")
	flags.StringVar(&f.filter.Node, "member", "", "runs of the ring member `NAME`, or of \"all\"; for root")
	cmd.MarkFlagsMutuallyExclusive("failed", "running", "skipped", "actions")
	cmd.MarkFlagsMutuallyExclusive("trigger", "actions")
	cmd.MarkFlagsMutuallyExclusive("member", "actions")
	f.out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	a.AddSelection(cmd, f.out, api.Runs{})
	a.AddPager(cmd)
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func history(a *cli.App, cmd *cobra.Command, f *historyFlags) error {
	loc := a.Location()
	if f.actions {
		return actions(a, cmd, f, loc)
	}
	f.filter.Trigger = job.Trigger(f.trigger.Value)
	runs, err := a.Daemon().History(cmd.Context(), f.filter)
	if err != nil {
		return err
	}
	for _, who := range runs.Missing {
		a.Infof("left out: %s", display.Text(who))
	}
	end := a.Page()
	defer end()
	if f.filter.Skipped {
		return cli.PrintList(a, f.out, runs, runs.Skipped, skipTable(runs.Skipped, f.out, loc))
	}
	err = cli.PrintList(a, f.out, runs, runs.Runs, runTable(a, runs.Runs, f.out, loc))
	if err == nil && f.out.ForPeople() {
		printDoubles(a, runs.Runs)
	}
	return err
}

// printDoubles prints which occurrences ran twice in the ring, with the other run and its member. A column
// would not fit on a terminal.
func printDoubles(a *cli.App, runs []job.Run) {
	for i := range runs {
		if r := &runs[i]; r.Doubled != "" {
			a.Printf("run %s of %s %s\n", r.ID, display.Text(string(r.Job)), display.Text(r.Doubled))
		}
	}
}

func runTable(a *cli.App, runs []job.Run, out *cli.Output, loc *time.Location) *cli.Table {
	t := &cli.Table{Header: []string{"run", "job", "due", "started", "outcome", "took", "trigger", "attempt", "by", "cpu", "memory", "read", "written", "note"}}
	form := out.TimeForm("Mon 01-02 15:04:05")
	for i := range runs {
		r := &runs[i]
		t.Add(r.ID.String(), string(r.Job), cli.FormatTime(r.Due, form, loc), cli.FormatTime(r.Started, form, loc), outcomeText(r, out.ForPeople()), a.Took(r),
			string(r.Trigger), strconv.Itoa(r.Attempt), r.By,
			cli.CPUTime(r.Usage.CPU), display.Bytes(r.Usage.Memory), display.Bytes(r.Usage.Read), display.Bytes(r.Usage.Write), noteText(r))
		t.Rows[i][4].Tone = runTone(r)
	}
	addNodes(t, runs)
	return t
}

// outcomeText describes for people also that the occurrence ran twice in the ring.
func outcomeText(r *job.Run, people bool) string {
	if people && r.Doubled != "" {
		return r.ResultOrState() + ", doubled"
	}
	return r.ResultOrState()
}

// noteText describes what a user requested for a run, besides starting it, and where in
// the ring its occurrence ran too.
func noteText(r *job.Run) string {
	var parts []string
	if r.Stop != nil {
		parts = append(parts, "stopped "+r.Stop.Detail().Words())
	}
	if r.Doubled != "" {
		parts = append(parts, r.Doubled)
	}
	if len(r.Env) > 0 {
		parts = append(parts, "env "+strings.Join(r.Env, " "))
	}
	return strings.Join(parts, "; ")
}

// addNodes adds a column with the member of each run, if some ran on other members.
func addNodes(t *cli.Table, runs []job.Run) {
	if !slices.ContainsFunc(runs, func(r job.Run) bool { return r.Node != "" }) {
		return
	}
	t.Header = append(t.Header, "member")
	for i := range runs {
		t.Rows[i] = append(t.Rows[i], cli.Cell{Text: cmp.Or(runs[i].Node, "here")})
	}
}

func runTone(r *job.Run) cli.Tone {
	switch {
	case r.State.Live():
		return cli.Active
	case r.State == job.RunDropped:
		return cli.Faint
	case r.OK():
		return cli.Good
	case !r.Failed():
		return cli.Faint
	}
	return cli.Bad
}

func skipTable(skipped []job.Record, out *cli.Output, loc *time.Location) *cli.Table {
	t := &cli.Table{Header: []string{"job", "due", "count", "reason", "detail"}}
	form := out.TimeForm("Mon 01-02 15:04:05")
	for _, r := range skipped {
		reason := string(r.Reason)
		if out.ForPeople() {
			reason = r.Reason.Sentence()
		}
		t.Add(string(r.Job), cli.FormatTime(r.Due, form, loc), strconv.Itoa(max(r.Count, 1)), reason, r.Detail.Words())
	}
	return t
}
