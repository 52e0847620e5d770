package crontabs

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// newUndoList returns the command undo list.
func newUndoList(a *cli.App) *cobra.Command {
	var q api.RevisionQuery
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "list [--file F|--user U]",
		Short: "List the versions of crontabs that are kept, the newest first",
		Long: `List the versions of crontabs that the daemon keeps, the newest first.

Everybody sees those of their own crontab; root sees all, and those of system
crontabs. The newest 10 of each file are kept, and up to 100 of the last 90 days.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return revisions(a, cmd, q, out) },
	}
	cmd.Flags().StringVar(&q.File, "file", "", "only versions of the crontab `FILE`, by its whole path")
	cmd.Flags().StringVar(&q.User, "user", "", "only versions of the crontab of the user `NAME`")
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N`; 100 if not given")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL, cli.FormName)
	a.AddSelection(cmd, out, api.Revisions{})
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

// newUndoShow returns the command undo show.
func newUndoShow(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "show REV",
		Short: "Print one version of a crontab",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return printRevision(a, cmd, args[0], out) },
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormJSONL)
	return cmd
}

func revisions(a *cli.App, cmd *cobra.Command, q api.RevisionQuery, out *cli.Output) error {
	loc := a.Location()
	found, err := a.Daemon().Revisions(cmd.Context(), q)
	if err != nil {
		return err
	}
	return cli.PrintList(a, out, api.Revisions{V: api.Version, Revisions: found}, found, revisionTable(found, out, loc))
}

func revisionTable(found []api.Revision, out *cli.Output, loc *time.Location) *cli.Table {
	t := &cli.Table{Header: []string{"revision", "at", "how", "by", "bytes", "file"}}
	for _, r := range found {
		at, size := cli.FormatTime(r.At, out.TimeForm(cli.LongTime), loc), strconv.Itoa(r.Size)
		if r.Gone {
			size = "none"
		}
		t.Add(strconv.FormatInt(r.ID, 10), at, r.How, r.By, size, r.File)
	}
	return t
}

// printRevision prints the text of one version as it was, but to a terminal
// without what could steer it.
func printRevision(a *cli.App, cmd *cobra.Command, number string, out *cli.Output) error {
	id, err := revisionNumber(number)
	if err != nil {
		return err
	}
	r, err := a.Daemon().Revision(cmd.Context(), id)
	if err != nil {
		return err
	}
	switch {
	case out.Value == cli.FormJSON:
		return a.PrintJSON(api.OneRevision{V: api.Version, Revision: r})
	case out.Value == cli.FormJSONL:
		return a.PrintLine(r)
	case r.Gone:
		a.Infof("revision %d: from then on there was no %s", r.ID, display.Text(r.File))
	case a.Terminal:
		a.Printf("%s", cli.EscapeText(string(r.Text)))
	default:
		_, err = a.Out.Write(r.Text)
	}
	return err
}

func revisionNumber(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, cli.UsageError("find revision "+strconv.Quote(text), "a revision is a number", "cronring undo list")
	}
	return id, nil
}
