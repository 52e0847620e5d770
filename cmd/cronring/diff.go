package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/tui/safe"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	formatFlags
	from string
	out  *output
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
	old, err := a.version(before, after, f, loc)
	if err != nil {
		return 0, err
	}
	now, err := a.version(after, after, f, loc)
	if err != nil {
		return 0, err
	}
	found := review.Compare(old, now)
	review.Count(found, from)
	switch f.out.word {
	case formJSON:
		return len(found), a.printJSON(found)
	case formJSONL:
		return len(found), printLines(a, found)
	}
	a.printDifferences(found, loc)
	return len(found), nil
}

// version reads a file. Both files are read as if they had the same name, which
// is part of the identity of a job.
func (a *app) version(name, as string, f *diffFlags, loc *time.Location) (review.Version, error) {
	s, err := a.read(name)
	if err != nil {
		return review.Version{}, err
	}
	format := f.formatFlags
	format.system = format.system || spool.SystemTable(name)
	table, remarks := format.parse(source{as, s.text}, loc)
	a.warnBroken(name, remarks)
	return review.NewVersion(table), nil
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

func (a *app) printDifferences(found []review.Difference, loc *time.Location) {
	width := 0
	for _, d := range found {
		width = max(width, safe.Width(safe.Text(string(d.Job))))
	}
	for _, d := range found {
		name := safe.Text(string(d.Job))
		mark, tone := "~", doubt
		switch d.Kind {
		case review.Added:
			mark, tone = "+", good
		case review.Removed:
			mark, tone = "-", bad
		}
		a.printf("%s %s  %s\n", a.paint(tone, mark), safe.Pad(name, width), safe.Text(differenceText(d, loc)))
	}
}

// differenceText says a difference in words.
func differenceText(d review.Difference, loc *time.Location) string {
	switch d.Kind {
	case review.Added:
		return fmt.Sprintf("%s  %s, %s in 7 days", d.New.Schedule, d.New.Meaning, plural(d.New.Runs, "run"))
	case review.Removed:
		return fmt.Sprintf("%s  %s, %s fewer in 7 days", d.Old.Schedule, d.Old.Meaning, plural(d.Old.Runs, "run"))
	}
	var text string
	for i, part := range d.Changed {
		if i > 0 {
			text += ", "
		}
		if part != review.Schedule {
			text += part + " changed"
			continue
		}
		text += fmt.Sprintf("%s -> %s  %s -> %s, runs in 7 days %d -> %d", d.Old.Schedule, d.New.Schedule,
			d.Old.Meaning, d.New.Meaning, d.Old.Runs, d.New.Runs)
		if d.First != nil {
			text += ", first change " + firstText(d, loc)
		}
	}
	return text
}

func firstText(d review.Difference, loc *time.Location) string {
	verb := "dropped"
	if d.IsNew() {
		verb = "added"
	}
	return d.First.In(loc).Format(stampEyes) + " " + verb
}
