package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
)

func newRevisions(a *app) *cobra.Command {
	var q api.RevisionQuery
	var out *output
	cmd := &cobra.Command{
		Use:   "revisions [REV] [--file F|--user U]",
		Short: "List the versions of crontabs, or print one",
		Long: `List the versions of crontabs that the daemon keeps, the newest first, or print
the one with the number REV.

Everybody sees those of their own crontab; root sees all, and those of system
tables. The newest 10 of each file are kept, and up to 100 of the last 90 days.`,
		Example: "  cronring revisions\n  cronring revisions 32",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.printRevision(cmd, args[0], out)
			}
			return a.revisions(cmd, q, out)
		},
	}
	cmd.Flags().StringVar(&q.File, "file", "", "only versions of the crontab file `FILE`, by its whole path")
	cmd.Flags().StringVar(&q.User, "user", "", "only versions of the crontab of the account `NAME`")
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N`; 100 if not given")
	cmd.Flags().Lookup("number").DefValue = ""
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL, formName)
	a.addSelection(cmd, out, api.Revisions{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) revisions(cmd *cobra.Command, q api.RevisionQuery, out *output) error {
	loc, err := a.location()
	if err != nil {
		return err
	}
	found, err := a.daemon().Revisions(cmd.Context(), q)
	if err != nil {
		return err
	}
	switch out.word {
	case formJSON:
		return a.printJSON(api.Revisions{V: api.Version, Revisions: found})
	case formJSONL:
		return printLines(a, found)
	case formName:
		for _, r := range found {
			a.printf("%d\n", r.ID)
		}
		return nil
	}
	a.printTable(a.revisionTable(found, out, loc), out)
	return nil
}

func (a *app) revisionTable(found []api.Revision, out *output, loc *time.Location) *table {
	t := &table{header: []string{"revision", "at", "how", "by", "bytes", "file"}}
	for _, r := range found {
		at, size := stamp(r.At, loc), strconv.Itoa(r.Size)
		if out.forEyes() {
			at = r.At.In(loc).Format(stampEyes)
		}
		if r.Gone {
			size = "none"
		}
		t.add(strconv.FormatInt(r.ID, 10), at, r.How, r.By, size, r.File)
	}
	return t
}

// printRevision prints the text of one version as it was, but to a terminal
// without what could steer it.
func (a *app) printRevision(cmd *cobra.Command, number string, out *output) error {
	id, err := revisionNumber(number)
	if err != nil {
		return err
	}
	r, err := a.daemon().Revision(cmd.Context(), id)
	if err != nil {
		return err
	}
	switch {
	case out.word == formJSON:
		return a.printJSON(api.OneRevision{V: api.Version, Revision: r})
	case out.word == formJSONL:
		return a.printLine(r)
	case r.Gone:
		a.say("revision %d: from then on there was no %s", r.ID, safe.Text(r.File))
	case a.tty:
		a.printf("%s", visible(string(r.Text)))
	default:
		_, err = a.out.Write(r.Text)
	}
	return err
}

func revisionNumber(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, badUsage("find revision "+strconv.Quote(text), "a revision is a number", "cronring revisions")
	}
	return id, nil
}
