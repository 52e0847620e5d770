package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
)

func newUndo(a *app) *cobra.Command {
	var r api.UndoRequest
	cmd := &cobra.Command{
		Use:   "undo [REV] [--user U]",
		Short: "Restore a version of a crontab",
		Long: `Restore the version REV of a crontab (see: cronring revisions), or without REV
take back the newest change of your own. An undo is a change, too: undoing it
brings back what it replaced.

Everybody restores their own crontab; root all, and system tables.`,
		Example: "  cronring undo\n  cronring undo 32",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				if r.Revision, err = revisionNumber(args[0]); err != nil {
					return err
				}
				if r.User != "" {
					return badUsage("undo to revision "+args[0]+" of "+r.User, "a revision belongs to one crontab already", "cronring undo "+args[0])
				}
			}
			client := a.dial()
			defer client.Close()
			done, err := client.Undo(cmd.Context(), r)
			if err == nil {
				a.printUndone(done)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&r.User, "user", "", "the newest change of the crontab of the account `NAME`")
	a.addColor(cmd)
	a.addQuiet(cmd)
	a.addSocket(cmd)
	return cmd
}

func (a *app) printUndone(done api.Installed) {
	for _, d := range done.Remarks {
		if d.Severity != "notice" {
			a.printRemark(d)
		}
	}
	what := fmt.Sprintf("restored %s, %s", safe.Text(done.File), entryCount(done.Entries))
	if done.Gone {
		what = fmt.Sprintf("removed %s, as before", safe.Text(done.File))
	}
	if done.Before != 0 {
		what += fmt.Sprintf("; undo: cronring undo %d", done.Before)
	}
	a.printf("%s\n", what)
	if done.Notice != "" {
		a.say("%s", safe.Text(done.Notice))
	}
}
