package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/tui/safe"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	formatFlags
	from string
	out  *output
}

// difference is one job that two tables do not agree on.
type difference struct {
	Job     job.ID     `json:"job"`
	Kind    string     `json:"kind"` // added, removed, changed
	Old     *side      `json:"old,omitempty"`
	New     *side      `json:"new,omitempty"`
	First   *time.Time `json:"first,omitempty"` // the first instant that only one of the two names, if within a week
	Changed []string   `json:"changed,omitempty"`
}

// side is a job as one of the two tables has it.
type side struct {
	job.Job
	Meaning  string `json:"meaning"`
	Runs     int    `json:"runs"` // in seven days
	schedule cron.Schedule
}

func newDiff(a *app) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell how two crontab files differ in what runs when",
		Long: `Tell how two crontab files differ in what runs when; - is standard input.

Jobs are told by their name= option, else by account and command, so that moved
lines, comments and blanks are no difference. Runs are counted over the seven days
from --from on. The exit code is 0 for no difference, 1 for some, 2 for trouble.`,
		Example: "  crontab -l | cronring diff - new.crontab",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := a.diff(args[0], args[1], f)
			switch {
			case err != nil:
				a.report(err)
				return exit(exitUsage)
			case found > 0:
				return exit(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&f.from, "from", "", "count runs from `T` on instead of now: "+whenHelp)
	f.add(cmd)
	f.out = a.textOutput(cmd, formText, formJSON, formJSONL)
	a.addZone(cmd, "of lines that name none, and of the times")
	a.addColor(cmd)
	a.addQuiet(cmd)
	return cmd
}

func (a *app) diff(before, after string, f *diffFlags) (int, error) {
	loc, err := a.location()
	if err != nil {
		return 0, err
	}
	from := a.now()
	if f.from != "" {
		if from, err = a.flagTime("from", f.from, loc); err != nil {
			return 0, err
		}
	}
	week := window{from: from, until: from.AddDate(0, 0, 7)}
	old, err := a.sides(before, after, f, loc, week)
	if err != nil {
		return 0, err
	}
	now, err := a.sides(after, after, f, loc, week)
	if err != nil {
		return 0, err
	}
	found := compare(old, now, week)
	switch f.out.word {
	case formJSON:
		return len(found), a.printJSON(found)
	case formJSONL:
		return len(found), printLines(a, found)
	}
	a.printDifferences(found, loc)
	return len(found), nil
}

// sides reads a file and gives its jobs, in order. Both files are read as if
// they had the same name, which is part of the identity of a job.
func (a *app) sides(name, as string, f *diffFlags, loc *time.Location, week window) ([]side, error) {
	s, err := a.read(name)
	if err != nil {
		return nil, err
	}
	format := f.formatFlags
	format.system = format.system || spool.SystemTable(name)
	table, remarks := format.parse(source{as, s.text}, loc)
	a.warnBroken(name, remarks)
	world := engine.New(engine.State{})
	world.Step(engine.Moment{Wall: week.from}, engine.Load{Tables: []*crontab.Table{table}, Node: hostName()})
	view := world.View()
	list := make([]side, view.Len())
	for i := range list {
		schedule := view.Entry(i).Schedule
		list[i] = side{Job: view.Job(i), Meaning: crontab.Describe(schedule), schedule: schedule}
		for t := schedule.Next(week.from.Add(-1)); week.includes(t); t = schedule.Next(t) {
			list[i].Runs++
		}
	}
	return list, nil
}

// warnBroken says on stderr that lines of a file were left out.
func (a *app) warnBroken(name string, remarks []crontab.Diagnostic) {
	n := 0
	for _, d := range remarks {
		if d.Severity == crontab.Error {
			n++
		}
	}
	if n > 0 {
		a.say("%s: %s, those lines are left out    cronring lint %s", safe.Text(name), plural(n, "error"), safe.Text(name))
	}
}

// compare lists what differs: jobs of the new table in its order, then those
// that are gone.
func compare(old, now []side, week window) []difference {
	found := []difference{}
	had, has := byID(old), byID(now)
	for i := range now {
		n := &now[i]
		o := had[n.ID]
		if o == nil {
			found = append(found, difference{Job: n.ID, Kind: "added", New: n})
			continue
		}
		if changed := changes(o, n); len(changed) > 0 {
			found = append(found, difference{Job: n.ID, Kind: "changed", Old: o, New: n, First: firstChange(o, n, week), Changed: changed})
		}
	}
	for i := range old {
		if o := &old[i]; has[o.ID] == nil {
			found = append(found, difference{Job: o.ID, Kind: "removed", Old: o})
		}
	}
	return found
}

func byID(sides []side) map[job.ID]*side {
	m := make(map[job.ID]*side, len(sides))
	for i := range sides {
		m[sides[i].ID] = &sides[i]
	}
	return m
}

// changes names what two entries of one job differ in.
func changes(o, n *side) []string {
	var changed []string
	for _, part := range []struct {
		name string
		same bool
	}{
		{"schedule", crontab.Identity(o.schedule) == crontab.Identity(n.schedule)},
		{"user", o.User == n.User},
		{"command", o.Command == n.Command && o.Stdin == n.Stdin},
		{"environment", slices.Equal(o.Env, n.Env)},
		{"options", optionText(o.Options) == optionText(n.Options)},
	} {
		if !part.same {
			changed = append(changed, part.name)
		}
	}
	return changed
}

// firstChange is the first instant of the week that one of the two schedules
// names and the other does not.
func firstChange(o, n *side, week window) *time.Time {
	at := week.from.Add(-1)
	for {
		a, b := o.schedule.Next(at), n.schedule.Next(at)
		switch {
		case !week.includes(a) && !week.includes(b):
			return nil
		case a.Equal(b):
			at = a
			continue
		case week.includes(a) && (b.IsZero() || a.Before(b)):
			return &a
		}
		return &b
	}
}

func (a *app) printDifferences(found []difference, loc *time.Location) {
	width := 0
	for _, d := range found {
		width = max(width, safe.Width(safe.Text(string(d.Job))))
	}
	for _, d := range found {
		name := safe.Text(string(d.Job))
		mark, tone := "~", doubt
		switch d.Kind {
		case "added":
			mark, tone = "+", good
		case "removed":
			mark, tone = "-", bad
		}
		a.printf("%s %s  %s\n", a.paint(tone, mark), safe.Pad(name, width), safe.Text(d.text(loc)))
	}
}

// text says the difference in words.
func (d difference) text(loc *time.Location) string {
	switch d.Kind {
	case "added":
		return fmt.Sprintf("%s  %s, %s in 7 days", d.New.Schedule, d.New.Meaning, plural(d.New.Runs, "run"))
	case "removed":
		return fmt.Sprintf("%s  %s, %s fewer in 7 days", d.Old.Schedule, d.Old.Meaning, plural(d.Old.Runs, "run"))
	}
	var text string
	for i, part := range d.Changed {
		if i > 0 {
			text += ", "
		}
		if part != "schedule" {
			text += part + " changed"
			continue
		}
		text += fmt.Sprintf("%s -> %s  %s -> %s, runs in 7 days %d -> %d", d.Old.Schedule, d.New.Schedule,
			d.Old.Meaning, d.New.Meaning, d.Old.Runs, d.New.Runs)
		if d.First != nil {
			text += ", first change " + d.firstText(loc)
		}
	}
	return text
}

func (d difference) firstText(loc *time.Location) string {
	verb := "dropped"
	if d.New.schedule.Next(d.First.Add(-1)).Equal(*d.First) {
		verb = "added"
	}
	return d.First.In(loc).Format(stampEyes) + " " + verb
}
