package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// listFlags are the flags of list.
type listFlags struct {
	query  api.Query
	states []string
	sort   string
	fields chosenColumns
	watch  bool
	out    *cli.Output
}

// NewList returns the command list.
func NewList(a *cli.App) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "list [JOB...]",
		Aliases: []string{"ls"},
		Short:   "List jobs, the worst first",
		Long: `List jobs, the worst first.

--fields chooses the columns, and --fields alone prints their names: those of the
list, then those of JSON, as job.zone or job.options.timeout.
-o custom-columns=NAME:field,... does the same with titles of your own.

--watch keeps running: on a terminal it redraws the list, otherwise it prints each
line that changes, with the state gone for a job that is no longer in the list. It
requests changes from the daemon at most once a second.`,
		Example: "  cronring list 'etl*'\n  cronring list --state failing -o name\n  cronring list --label team:etl --sort took\n" +
			"  cronring list -w --fields=job,state,last.id\n  cronring list -o custom-columns=JOB:job,ZONE:job.zone",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.query.Refs = args
			for _, s := range f.states {
				f.query.States = append(f.query.States, job.State(s))
			}
			return list(a, cmd, f)
		},
	}
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only jobs in `STATE`: failing, late, running, held, paused, disabled, ok, new")
	cmd.Flags().StringVar(&f.query.User, "user", "", "only jobs of the user `NAME`")
	cmd.Flags().StringVar(&f.query.Crontab, "file", "", "only jobs of the crontab file `FILE`")
	cmd.Flags().StringSliceVar(&f.query.Labels, "label", nil, "only jobs with `LABEL` among their labels=: key:value, or a key")
	cmd.Flags().StringVar(&f.sort, "sort", "", "sort by `COLUMN` instead: "+strings.Join(columnNames(), ", "))
	f.out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddSelection(cmd, f.out, api.Jobs{})
	form := cmd.Flags().Lookup("output")
	form.Value = &customForm{f.out, &f.fields}
	form.Usage += ", " + customColumns + "NAME:field,..."
	cmd.Flags().Func("fields", "these columns alone, `FIELDS` with commas between; without any, print their names", f.fields.set)
	cmd.Flags().Lookup("fields").NoOptDefVal = cli.ListFields
	cli.AddWatch(cmd, &f.watch, "the list")
	cli.CompleteFlag(cmd, "sort", columnNames())
	cli.CompleteFlag(cmd, "fields", jobFields())
	cli.CompleteFlag(cmd, "state", stateNames())
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func list(a *cli.App, cmd *cobra.Command, f *listFlags) error {
	if f.fields.names {
		for _, name := range jobFields() {
			a.Printf("%s\n", name)
		}
		return nil
	}
	loc := a.Location()
	if err := f.check(); err != nil {
		return err
	}
	client := a.Daemon()
	l := &listing{app: a, flags: f, loc: loc, client: client}
	if f.watch {
		return l.watch(cmd.Context())
	}
	if err := l.ask(cmd.Context()); err != nil {
		return err
	}
	if q := &f.query; len(l.jobs) == 0 && f.out.Value != cli.FormJSON && f.out.Value != cli.FormJSONL && len(q.States)+len(q.Labels)+len(q.User)+len(q.Crontab) > 0 {
		a.Infof("no job matches")
	}
	return l.print()
}

// check refuses what makes no sense, before anybody is asked anything.
func (f *listFlags) check() error {
	if err := checkStates(f.query.States); err != nil {
		return err
	}
	const fix = "cronring list --help"
	switch {
	case f.sort != "" && !slices.Contains(columnNames(), f.sort):
		return cli.UsageError("sort jobs by "+strconv.Quote(f.sort), "it is none of "+strings.Join(columnNames(), ", "), fix)
	case f.fields.columns != nil && !f.out.ForPeople() && f.out.Value != cli.FormPlain:
		return cli.UsageError("choose columns of -o "+f.out.Value, "it has none", "cronring list --json=FIELDS")
	case f.watch && f.out.Value == cli.FormJSON:
		return cli.UsageError("watch with -o json", "a document would never end", "cronring list -w -o jsonl")
	}
	f.fields.orDefault()
	return nil
}

// listing is a list of jobs, as it was asked for and answered.
type listing struct {
	app    *cli.App
	flags  *listFlags
	loc    *time.Location
	client *api.Client
	jobs   []job.Status
}

func (l *listing) ask(ctx context.Context) (err error) {
	l.jobs, err = l.client.List(ctx, l.flags.query)
	if err == nil && l.flags.sort != "" {
		sortJobs(l.jobs, l.flags.sort)
	}
	return err
}

func (l *listing) print() error {
	if l.flags.out.Value == cli.FormJSON {
		return l.app.PrintJSON(api.Jobs{V: api.Version, Jobs: l.jobs})
	}
	return printJobs(l.app, l.jobs, l.flags, l.flags.out, l.loc)
}

// printJobs writes jobs in a form that is one line for each.
func printJobs(a *cli.App, jobs []job.Status, f *listFlags, out *cli.Output, loc *time.Location) error {
	switch out.Value {
	case cli.FormJSONL:
		return cli.PrintLines(a, jobs)
	case cli.FormName:
		for _, j := range jobs {
			a.Printf("%s\n", display.Text(string(j.Job.ID)))
		}
		return nil
	}
	a.PrintTable(jobTable(a, jobs, f.fields.columns, out, loc), out)
	return nil
}

// stateGone is the state of a job that a watched list has no more.
const stateGone job.State = "gone"

// watch prints the list again and again.
func (l *listing) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &cli.Watch{
		Changes: cli.FollowBoard(ctx, l.client, func(u *api.BoardUpdate) bool { return len(u.Rows)+len(u.Gone) > 0 }),
		Ask:     l.ask,
	}
	if l.app.CanRedraw() && l.flags.out.ForPeople() {
		s := &cli.Redraw{Printer: &l.app.Printer}
		w.Ticks = true
		w.Draw = func() error { return s.Put(l.app.Capture(func() { _ = l.print() })) } // to memory
		return w.Run(ctx)
	}
	printed := &printedJobs{}
	w.Draw = func() error {
		out := *l.flags.out
		out.NoHeader = out.NoHeader || printed.lines != nil
		if changed := printed.changed(l); len(changed) > 0 {
			if err := printJobs(l.app, changed, l.flags, &out, l.loc); err != nil {
				return err
			}
		}
		return l.app.Out.Flush()
	}
	return w.Run(ctx)
}

// printedJobs holds the lines that were printed of each job.
type printedJobs struct {
	lines map[job.ID]printedJob
}

type printedJob struct {
	line string
	job  job.Status
}

// changed returns the jobs whose line has changed, and those that have left the list. The
// first time it returns all.
func (t *printedJobs) changed(l *listing) (jobs []job.Status) {
	before := t.lines
	t.lines = make(map[job.ID]printedJob, len(l.jobs))
	columns := l.flags.fields.columns
	if l.flags.out.Value == cli.FormJSONL {
		columns = wholeJob
	}
	rows := jobTable(l.app, l.jobs, columns, &cli.Output{Choice: cli.Choice{Value: cli.FormPlain}}, l.loc).Rows
	for i, row := range rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(c.Text + "\t")
		}
		id := l.jobs[i].Job.ID
		t.lines[id] = printedJob{line.String(), l.jobs[i]}
		if before[id].line != line.String() {
			jobs = append(jobs, l.jobs[i])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, still := t.lines[id]; !still {
			gone := before[id].job
			gone.State = stateGone
			jobs = append(jobs, gone)
		}
	}
	return jobs
}

// wholeJob is all that is known of a job.
var wholeJob = []column{{name: "all", plain: func(r *jobRow) string {
	text, _ := json.Marshal(r.Status) // it came as JSON
	return string(text)
}}}

// stateNames returns the states of jobs, the worst first.
func stateNames() (names []string) {
	for _, s := range job.States {
		names = append(names, string(s))
	}
	return names
}

func checkStates(states []job.State) error {
	for _, s := range states {
		if _, ok := cli.StateLook[s]; !ok {
			return cli.UsageError(fmt.Sprintf("list jobs in state %q: no such state", s), "",
				"one of failing, late, running, held, paused, disabled, ok, new")
		}
	}
	return nil
}
