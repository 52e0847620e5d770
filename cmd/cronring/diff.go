package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	formatFlags
	from       string
	runs       durationFlag
	rev        string
	file, user string
	out        *output
}

// longestDiff bounds the time over which runs are counted.
const longestDiff = 90 * 24 * time.Hour

func newDiff(a *app) *cobra.Command {
	f := &diffFlags{runs: durationFlag(7 * 24 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "diff [OLD] [NEW] [--rev N] [--file F|-u USER]",
		Short: "Tell how two versions of a crontab differ in what runs when",
		Long: `Tell how two versions of a crontab differ in what runs when; - is standard input.

  OLD NEW      two files; this needs no daemon
  NEW          your installed crontab, or that of --file or -u, and a file
  --rev N NEW  a revision, as cronring revisions lists them, and a file
  --rev N      a revision, and what is installed in its place now

Jobs are told by their name= option, else by account and command, so that moved
lines, comments and blanks are no difference. Runs are counted over the time of
--runs. Of jobs that are added or get another schedule it tells the minute in which
most others start, too: those of the other crontabs you may read, where the daemon
was asked. The exit code is 0 for no difference, 1 for some, 2 for trouble.`,
		Example: "  crontab -l | cronring diff - new.crontab\n  cronring diff new.crontab\n  cronring diff --rev 32 --runs 30d",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := a.diff(cmd.Context(), args, f)
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
	cmd.Flags().Var(&f.runs, "runs", "count the runs of `D`, at most 90d")
	cmd.Flags().StringVar(&f.rev, "rev", "", "the old version is the revision `N`")
	cmd.Flags().StringVar(&f.file, "file", "", "the old version is the installed crontab at `FILE`")
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "the old version is the installed crontab of the account `NAME`")
	cmd.MarkFlagsMutuallyExclusive("rev", "file", "user")
	f.add(cmd)
	f.out = a.textOutput(cmd, formText, formJSON, formJSONL)
	a.addZone(cmd, "of lines that name none, and of the times")
	a.addColor(cmd)
	a.addQuiet(cmd)
	return cmd
}

func (a *app) diff(ctx context.Context, args []string, f *diffFlags) (int, error) {
	loc, err := a.location()
	if err != nil {
		return 0, err
	}
	from, err := a.flagTime("from", f.from, loc)
	if err != nil {
		return 0, err
	}
	span := time.Duration(f.runs)
	if span <= 0 || span > longestDiff {
		return 0, badUsage("count the runs of "+f.runs.String(), "it is more than nothing, and at most 90d", "")
	}
	from = cmp.Or(from, a.now())
	v, err := a.diffed(ctx, args, f, loc)
	if err != nil {
		return 0, err
	}
	found := review.Compare(v.old, v.now)
	review.Count(found, from, from.Add(span))
	review.FindClashes(found, from, from.Add(span), append(v.others, v.now)...)
	switch f.out.word {
	case formJSON:
		return len(found), a.printJSON(found)
	case formJSONL:
		return len(found), printLines(a, found)
	}
	a.printDifferencesIn(found, loc, span)
	return len(found), nil
}

// diffed is the versions that diff is about.
type diffed struct {
	old, now review.Version
	others   []review.Version // the other crontabs of the host
}

func (a *app) diffed(ctx context.Context, args []string, f *diffFlags, loc *time.Location) (v diffed, err error) {
	named := f.rev != "" || f.file != "" || f.user != ""
	switch {
	case len(args) == 2 && !named:
		if v.old, err = a.version(args[0], args[1], f, loc); err != nil {
			return v, err
		}
		v.now, err = a.version(args[1], args[1], f, loc)
		return v, err
	case len(args) == 2:
		return v, badUsage("compare three versions", "two files are named, and an installed crontab or a revision", "leave one of them out")
	case len(args) == 0 && f.rev == "":
		return v, badUsage("compare nothing", "no file is named, and no revision", "cronring diff NEW    or: cronring diff --rev N")
	}
	by, err := a.changer(ctx)
	if err != nil {
		return v, err
	}
	return a.installedDiff(ctx, by, args, f)
}

// installedDiff compares with what is installed, or was. All texts are read as
// the installed crontab is.
func (a *app) installedDiff(ctx context.Context, by changer, args []string, f *diffFlags) (v diffed, err error) {
	var revision api.Revision
	if f.rev != "" {
		if revision, err = a.oneRevision(ctx, f.rev); err != nil {
			return v, err
		}
		f.file = revision.File
	}
	table, err := readTable(ctx, by, f.file, f.user)
	if err != nil {
		return v, err
	}
	config := table.Config(spool.LoadZone)
	read := func(name, text string) review.Version {
		parsed, remarks := crontab.Parse(table.File, text, config)
		a.warnBroken(name, remarks)
		return review.NewVersion(parsed)
	}
	before, name := string(table.Text), table.File
	if f.rev != "" {
		before, name = string(revision.Text), "revision "+f.rev
	}
	v.old = read(name, before)
	if next, named := only(args); named {
		s, err := a.read(next)
		if err != nil {
			return v, err
		}
		v.now = read(s.name, s.text)
	} else {
		v.now = read(table.File, string(table.Text))
	}
	v.others, err = otherTables(ctx, by, table.File)
	return v, err
}

// oneRevision asks the daemon, which alone has revisions.
func (a *app) oneRevision(ctx context.Context, number string) (api.Revision, error) {
	id, err := revisionNumber(number)
	if err != nil {
		return api.Revision{}, err
	}
	return a.daemon().Revision(ctx, id)
}

// otherTables reads all crontabs that the caller may read but one.
func otherTables(ctx context.Context, by changer, but string) (others []review.Version, err error) {
	tables, err := by.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.File == but || t.Missing || t.Refused != "" || t.Entries == 0 {
			continue
		}
		text, err := by.Table(ctx, t.File, "")
		if err != nil {
			return nil, err
		}
		parsed, _ := crontab.Parse(t.File, string(text.Text), text.Config(spool.LoadZone))
		others = append(others, review.NewVersion(parsed))
	}
	return others, nil
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

// printDifferences prints differences whose runs were counted over a week.
func (a *app) printDifferences(found []review.Difference, loc *time.Location) {
	a.printDifferencesIn(found, loc, 7*24*time.Hour)
}

func (a *app) printDifferencesIn(found []review.Difference, loc *time.Location, span time.Duration) {
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
		a.printf("%s %s  %s\n", a.paint(tone, mark), safe.Pad(name, width), safe.Text(differenceText(d, loc, spanText(span))))
	}
}

// spanText says how long a time is, in days where it has full ones.
func spanText(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return plural(int(d/day), "day")
	}
	return when.Brief(d)
}

// differenceText says a difference in words.
func differenceText(d review.Difference, loc *time.Location, span string) string {
	switch d.Kind {
	case review.Added:
		return fmt.Sprintf("%s  %s, %s in %s", d.New.Schedule, d.New.Meaning, plural(d.New.Runs, "run"), span) + clashText(d.Clash, loc)
	case review.Removed:
		return fmt.Sprintf("%s  %s, %s fewer in %s", d.Old.Schedule, d.Old.Meaning, plural(d.Old.Runs, "run"), span)
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
		text += fmt.Sprintf("%s -> %s  %s -> %s, runs in %s %d -> %d", d.Old.Schedule, d.New.Schedule,
			d.Old.Meaning, d.New.Meaning, span, d.Old.Runs, d.New.Runs)
		if d.First != nil {
			text += ", first change " + firstText(d, loc)
		}
		text += clashText(d.Clash, loc)
	}
	return text
}

// clashText says with which jobs one would start together.
func clashText(c *review.Clash, loc *time.Location) string {
	if c == nil {
		return ""
	}
	names := make([]string, len(c.Jobs))
	for i, id := range c.Jobs {
		names[i] = string(id)
	}
	text := ", clashes with " + strings.Join(names, ", ")
	if c.More > 0 {
		text += fmt.Sprintf(" and %d more", c.More)
	}
	return text + " at " + c.At.In(loc).Format("Mon 2006-01-02 15:04")
}

func firstText(d review.Difference, loc *time.Location) string {
	verb := "dropped"
	if d.IsNew() {
		verb = "added"
	}
	return d.First.In(loc).Format(stampEyes) + " " + verb
}
