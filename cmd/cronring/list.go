package main

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

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
)

// listFlags are the flags of list.
type listFlags struct {
	query  api.Query
	states []string
	sort   string
	fields columnsFlag
	watch  bool
	out    *output
}

func newList(a *app) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "list [JOB...]",
		Aliases: []string{"ls"},
		Short:   "List jobs, the worst first",
		Long: `List jobs, the worst first.

--fields chooses the columns, and --fields alone prints their names: those of the
list, then those of JSON, as job.zone or job.options.timeout.
-o custom-columns=NAME:field,... does the same with titles of your own.

With --watch it goes on: on a terminal the list is drawn over itself, anywhere
else each line that changes is printed, with the state gone for a job that the
list has no more. The daemon tells when that is, and is asked at most once a
second.`,
		Example: "  cronring list 'etl*'\n  cronring list --state failing -o name\n  cronring list --label team:etl --sort took\n" +
			"  cronring list -w --fields=job,state,last.id\n  cronring list -o custom-columns=JOB:job,ZONE:job.zone",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.query.Refs = args
			for _, s := range f.states {
				f.query.States = append(f.query.States, job.State(s))
			}
			return a.list(cmd, f)
		},
	}
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "only jobs in `STATE`: failing, late, running, held, disabled, ok, new")
	cmd.Flags().StringVar(&f.query.User, "user", "", "only jobs of the account `NAME`")
	cmd.Flags().StringVar(&f.query.Table, "file", "", "only jobs of the crontab file `FILE`")
	cmd.Flags().StringSliceVar(&f.query.Labels, "label", nil, "only jobs with `LABEL` among their labels=: key:value, or a key")
	cmd.Flags().StringVar(&f.sort, "sort", "", "sort by `COLUMN` instead: "+strings.Join(columnNames(), ", "))
	f.out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL, formName)
	a.addSelection(cmd, f.out, api.Jobs{})
	form := cmd.Flags().Lookup("output")
	form.Value = &customForm{f.out, &f.fields}
	form.Usage += ", " + customColumns + "NAME:field,..."
	cmd.Flags().Var(&f.fields, "fields", "these columns alone, `FIELDS` with commas between; without any, print their names")
	cmd.Flags().Lookup("fields").NoOptDefVal = noFields
	addWatch(cmd, &f.watch, "the list")
	completeFlag(cmd, "sort", columnNames())
	completeFlag(cmd, "fields", jobFields())
	completeFlag(cmd, "state", stateNames())
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) list(cmd *cobra.Command, f *listFlags) error {
	if f.fields.names {
		for _, name := range jobFields() {
			a.printf("%s\n", name)
		}
		return nil
	}
	loc, err := a.location()
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	client := a.daemon()
	l := &listing{app: a, flags: f, loc: loc, client: client}
	if f.watch {
		return l.watch(cmd.Context())
	}
	if err := l.ask(cmd.Context()); err != nil {
		return err
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
		return badUsage("sort jobs by "+strconv.Quote(f.sort), "it is none of "+strings.Join(columnNames(), ", "), fix)
	case f.fields.columns != nil && !f.out.forEyes() && f.out.word != formPlain:
		return badUsage("choose columns of -o "+f.out.word, "it has none", "cronring list --json=FIELDS")
	case f.watch && f.out.word == formJSON:
		return badUsage("watch with -o json", "a document would never end", "cronring list -w -o jsonl")
	}
	if f.fields.columns == nil {
		f.fields.columns = jobColumns
	}
	return nil
}

// listing is a list of jobs, as it was asked for and answered.
type listing struct {
	app    *app
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
	if l.flags.out.word == formJSON {
		return l.app.printJSON(api.Jobs{V: api.Version, Jobs: l.jobs})
	}
	return l.app.printJobs(l.jobs, l.flags, l.flags.out, l.loc)
}

// printJobs writes jobs in a form that is one line for each.
func (a *app) printJobs(jobs []job.Status, f *listFlags, out *output, loc *time.Location) error {
	switch out.word {
	case formJSONL:
		return printLines(a, jobs)
	case formName:
		for _, j := range jobs {
			a.printf("%s\n", safe.Text(string(j.Job.ID)))
		}
		return nil
	}
	a.printTable(a.jobTable(jobs, f.fields.columns, out, loc), out)
	return nil
}

// stateGone is the state of a job that a watched list has no more.
const stateGone job.State = "gone"

// watch prints the list again and again.
func (l *listing) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watch{
		changes: followBoard(ctx, l.client, func(u *api.BoardUpdate) bool { return len(u.Rows)+len(u.Gone) > 0 }),
		ask:     l.ask,
	}
	if l.app.inPlace() && l.flags.out.forEyes() {
		s := &redrawn{printer: &l.app.printer}
		w.ticks = true
		w.draw = func() error { return s.put(l.app.rendered(func() { _ = l.print() })) } // to memory
		return w.run(ctx)
	}
	told := &toldJobs{}
	w.draw = func() error {
		out := *l.flags.out
		out.noHeader = out.noHeader || told.lines != nil
		if changed := told.changed(l); len(changed) > 0 {
			if err := l.app.printJobs(changed, l.flags, &out, l.loc); err != nil {
				return err
			}
		}
		return l.app.out.Flush()
	}
	return w.run(ctx)
}

// toldJobs is what was printed of each job.
type toldJobs struct {
	lines map[job.ID]toldJob
}

type toldJob struct {
	line string
	job  job.Status
}

// changed gives the jobs whose line is another now, and those that are gone; the
// first time all.
func (t *toldJobs) changed(l *listing) (jobs []job.Status) {
	before := t.lines
	t.lines = make(map[job.ID]toldJob, len(l.jobs))
	columns := l.flags.fields.columns
	if l.flags.out.word == formJSONL {
		columns = wholeJob
	}
	rows := l.app.jobTable(l.jobs, columns, &output{choice: choice{word: formPlain}}, l.loc).rows
	for i, row := range rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(c.text + "\t")
		}
		id := l.jobs[i].Job.ID
		t.lines[id] = toldJob{line.String(), l.jobs[i]}
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

// stateNames are the states that jobs are in, the worst first.
func stateNames() (names []string) {
	for _, s := range states {
		names = append(names, string(s))
	}
	return names
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
