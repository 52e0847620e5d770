package crontabs

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewUndo returns the command undo.
func NewUndo(a *cli.App) *cobra.Command {
	var r api.UndoRequest
	cmd := &cobra.Command{
		Use:   "undo [REV] [--user U|--file F]",
		Short: "Restore a version of a crontab, or list and show the versions",
		Long: `Restore the version REV of a crontab (see: cronring undo list), or without REV
take back the newest change of your own, of that of --user, or of --file. An
undo is a change, too: undoing it brings back what it replaced. If the daemon was
started with a list of files, undo without REV takes back the newest change of them.

Users restore their own crontab; root restores all crontabs.`,
		Example: "  cronring undo\n  cronring undo list\n  cronring undo show 32\n  cronring undo 32\n  sudo cronring undo --file /etc/cron.d/etl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				if r.Revision, err = revisionNumber(args[0]); err != nil {
					return err
				}
				if of := cmp.Or(r.User, r.File); of != "" {
					return cli.UsageError("undo to revision "+args[0]+" of "+of, "a revision belongs to one crontab already", "cronring undo "+args[0])
				}
			}
			done, err := atPath(r.File, func(file string) (api.Installed, error) {
				r.File = file
				return a.Daemon().Undo(cmd.Context(), r)
			})
			if err == nil {
				printUndone(a, done)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&r.User, "user", "", "the newest change of the crontab of the user `NAME`")
	cmd.Flags().StringVar(&r.File, "file", "", "the newest change of the crontab `FILE`")
	cmd.MarkFlagsMutuallyExclusive("user", "file")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	cmd.AddCommand(newUndoList(a), newUndoShow(a))
	return cmd
}

func printUndone(a *cli.App, done api.Installed) {
	for _, d := range done.Diagnostics {
		if d.Severity != "notice" {
			a.PrintDiagnostic(d)
		}
	}
	what := fmt.Sprintf("restored %s, %s", display.Text(done.File), cli.Entries(done.Entries))
	if done.Gone {
		what = fmt.Sprintf("removed %s, as before", display.Text(done.File))
	}
	switch {
	case done.Before == 0:
	case done.Before == done.Restored:
		what = fmt.Sprintf("nothing changed: %s has the text of revision %d already", display.Text(done.File), done.Restored)
	default:
		what += fmt.Sprintf("; undo: cronring undo %d", done.Before)
	}
	a.Printf("%s\n", what)
	if done.Notice != "" {
		a.Infof("%s", display.Text(done.Notice))
	}
}
