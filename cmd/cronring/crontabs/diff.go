package crontabs

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/timeinput"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	cli.FormatFlags
	from       time.Time
	runs       cli.Duration
	rev        string
	file, user string
	out        *cli.Output
}

// longestDiff bounds the time over which runs are counted.
const longestDiff = 90 * 24 * time.Hour

// NewDiff returns the command diff.
func NewDiff(a *cli.App) *cobra.Command {
	f := &diffFlags{runs: cli.Duration(7 * 24 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "diff [OLD] [NEW] [--rev N] [--file F|-u USER]",
		Short: "Show which runs differ between two versions of a crontab",
		Long: `Show which runs differ between two versions of a crontab; - is standard input.

  OLD NEW      two files; this needs no daemon
  NEW          your installed crontab, or that of --file or -u, and a file
  --rev N NEW  a revision, as cronring undo list lists them, and a file
  --rev N      a revision, and what is installed in its place now

Jobs are identified by name=, else by user and command, so that moved lines,
comments and blanks are not differences. Runs are counted over the time of --runs.
For new jobs and new schedules the output includes the minute with the most other
starts: if the daemon is used, also those of other crontabs that you may read. The
exit code is 0 if nothing differs, 1 if something does, 2 for errors.`,
		Example: "  crontab -l | cronring diff - new.crontab\n  cronring diff new.crontab\n  cronring diff --rev 32 --runs 30d",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := diff(cmd.Context(), a, args, f)
			switch {
			case err != nil:
				a.Report(err)
				return cli.ExitCode(cli.ExitUsage)
			case found > 0:
				return cli.ExitCode(cli.ExitFailed)
			}
			return nil
		},
	}
	a.AddFuture(cmd, &f.from, "from", "count runs from `T` on instead of now: "+timeinput.Help)
	cmd.Flags().Var(&f.runs, "runs", "count the runs of `D`, at most 90d")
	cmd.Flags().StringVar(&f.rev, "rev", "", "the old version is the revision `N`")
	cmd.Flags().StringVar(&f.file, "file", "", "the old version is the installed crontab at `FILE`")
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "the old version is the installed crontab of the user `NAME`")
	cmd.MarkFlagsMutuallyExclusive("rev", "file", "user")
	f.Add(cmd)
	f.out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL)
	a.AddZone(cmd, "of lines that name none, and of the times")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func diff(ctx context.Context, a *cli.App, args []string, f *diffFlags) (int, error) {
	loc := a.Location()
	span := time.Duration(f.runs)
	if span <= 0 || span > longestDiff {
		return 0, cli.UsageError("count the runs of "+f.runs.String(), "it is more than nothing, and at most 90d", "")
	}
	from := cmp.Or(f.from, a.Now())
	v, err := readVersions(ctx, a, args, f, loc)
	if err != nil {
		return 0, err
	}
	found := review.Compare(v.old, v.now)
	review.Count(found, from, from.Add(span))
	review.FindClashes(found, from, from.Add(span), append(v.others, v.now)...)
	switch f.out.Value {
	case cli.FormJSON:
		return len(found), a.PrintJSON(found)
	case cli.FormJSONL:
		return len(found), cli.PrintLines(a, found)
	}
	printDifferencesIn(a, found, loc, span)
	return len(found), nil
}

// diffed is the versions that diff is about.
type diffed struct {
	old, now review.Version
	others   []review.Version // the other crontabs of the host
}

func readVersions(ctx context.Context, a *cli.App, args []string, f *diffFlags, loc *time.Location) (v diffed, err error) {
	named := f.rev != "" || f.file != "" || f.user != ""
	switch {
	case len(args) == 2 && !named:
		if v.old, err = version(a, args[0], args[1], f, loc); err != nil {
			return v, err
		}
		v.now, err = version(a, args[1], args[1], f, loc)
		return v, err
	case len(args) == 2:
		return v, cli.UsageError("compare three versions", "two files are named, and an installed crontab or a revision", "leave one of them out")
	case len(args) == 0 && f.rev == "":
		return v, cli.UsageError("compare crontabs", "neither a file nor a revision is named", "cronring diff NEW    or: cronring diff --rev N")
	}
	by, err := openCrontabs(ctx, a, nil)
	if err != nil {
		return v, err
	}
	return installedDiff(ctx, a, by, args, f)
}

// installedDiff compares with what is installed, or was. All texts are read as
// the installed crontab is.
func installedDiff(ctx context.Context, a *cli.App, by changer, args []string, f *diffFlags) (v diffed, err error) {
	var revision api.Revision
	if f.rev != "" {
		if revision, err = oneRevision(ctx, a, f.rev); err != nil {
			return v, err
		}
		f.file = revision.File
	}
	file, err := readCrontab(ctx, by, f.file, f.user)
	if err != nil {
		return v, err
	}
	config := file.Config(spool.LoadZone)
	read := func(name, text string) review.Version {
		parsed, diagnostics := crontab.Parse(file.File, text, config)
		cli.WarnBroken(a, name, diagnostics)
		return review.NewVersion(parsed)
	}
	before, name := string(file.Text), file.File
	if f.rev != "" {
		before, name = string(revision.Text), "revision "+f.rev
	}
	v.old = read(name, before)
	if next, named := cli.Single(args); named {
		s, err := a.ReadSource(next)
		if err != nil {
			return v, err
		}
		v.now = read(s.Name, s.Text)
	} else {
		v.now = read(file.File, string(file.Text))
	}
	v.others, err = otherCrontabs(ctx, by, file.File)
	return v, err
}

// oneRevision requests a revision from the daemon, which alone keeps them.
func oneRevision(ctx context.Context, a *cli.App, number string) (api.Revision, error) {
	id, err := revisionNumber(number)
	if err != nil {
		return api.Revision{}, err
	}
	return a.Daemon().Revision(ctx, id)
}

// otherCrontabs reads all crontabs that the caller may read but one.
func otherCrontabs(ctx context.Context, by changer, but string) (others []review.Version, err error) {
	crontabs, err := by.CrontabFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range crontabs {
		if t.File == but || t.Missing || t.Refused != "" || t.Entries == 0 {
			continue
		}
		text, err := by.CrontabText(ctx, t.File, "")
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
func version(a *cli.App, name, as string, f *diffFlags, loc *time.Location) (review.Version, error) {
	s, err := a.ReadSource(name)
	if err != nil {
		return review.Version{}, err
	}
	format := f.FormatFlags
	format.System = format.System || spool.SystemCrontab(name)
	file, diagnostics := format.Parse(cli.Source{Name: as, Text: s.Text}, loc)
	cli.WarnBroken(a, name, diagnostics)
	return review.NewVersion(file), nil
}

// printDifferences prints differences whose runs were counted over a week.
func printDifferences(a *cli.App, found []review.Difference, loc *time.Location) {
	printDifferencesIn(a, found, loc, 7*24*time.Hour)
}

func printDifferencesIn(a *cli.App, found []review.Difference, loc *time.Location, span time.Duration) {
	width := 0
	for _, d := range found {
		width = max(width, display.Width(display.Text(string(d.Job))))
	}
	for _, d := range found {
		name := display.Text(string(d.Job))
		mark, tone := "~", cli.Warn
		switch d.Kind {
		case review.Added:
			mark, tone = "+", cli.Good
		case review.Removed:
			mark, tone = "-", cli.Bad
		}
		a.Printf("%s %s  %s\n", a.Paint(tone, mark), display.Pad(name, width), display.Text(differenceText(d, loc, spanText(span))))
	}
}

// spanText formats a duration, in days if it has whole ones.
func spanText(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day == 0 {
		return display.Count(int(d/day), "day")
	}
	return display.Brief(d)
}

// sideText describes a job that only one version has. One without scheduled times has no
// number of runs.
func sideText(s *review.Side, span string) string {
	text := s.Schedule + "  " + s.Meaning
	if s.IsTimeless() {
		return text
	}
	return text + ", " + display.Count(s.Runs, "run") + span
}

// differenceText describes a difference.
func differenceText(d review.Difference, loc *time.Location, span string) string {
	switch d.Kind {
	case review.Added:
		return sideText(d.New, " in "+span) + clashText(d.Clash, loc)
	case review.Removed:
		return sideText(d.Old, " fewer in "+span)
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

// clashText lists the jobs that would start at the same time.
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
	return d.First.In(loc).Format(cli.LongTime) + " " + verb
}
