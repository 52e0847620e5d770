package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewDB returns the command db.
func NewDB(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "db check|backup|prune|stats",
		Short: "Look after the history: measure, check, copy, prune it",
		Long: `Look after the history. Only root and the daemon's own account may.

stats  tells how large it is.
check  reads all of it and tells what is damaged; then the code is 8.
backup writes a copy of it into the folder backup beside it, of which the
       newest five are kept, and prints its path. To restore one, put it in
       the place of cronring.db while the daemon is down.
prune  removes at once what keep= and the like do not keep. The daemon does
       so by itself now and then.

Jobs go on meanwhile.`,
		Example:   "  cronring db backup\n  cronring db check || cronring db backup",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{api.DBCheck, api.DBBackup, api.DBPrune, "stats"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return cli.UsageError("look after the history by "+strconv.Quote(args[0]), "it is one of check, backup, prune and stats", "cronring db stats")
			}
			client := a.Daemon()
			if args[0] == "stats" {
				s, err := client.DBStats(cmd.Context())
				if err != nil {
					return err
				}
				return printDBStats(a, s, out)
			}
			done, err := client.DB(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printDBDone(a, args[0], done, out)
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	return cmd
}

func printDBStats(a *cli.App, s api.DBStats, out *cli.Output) error {
	if out.Value == cli.FormJSON {
		return a.PrintJSON(s)
	}
	a.Printf("%s  %s", display.Text(s.Path), display.Bytes(s.Bytes))
	if s.Free > 0 {
		a.Printf(", of them %s free", display.Bytes(s.Free))
	}
	a.Printf("\n")
	for _, name := range slices.Sorted(maps.Keys(s.Rows)) {
		a.Printf("  %-10s %d\n", display.Text(name), s.Rows[name])
	}
	return nil
}

func printDBDone(a *cli.App, what string, done api.DBDone, out *cli.Output) error {
	switch {
	case out.Value == cli.FormJSON:
		if err := a.PrintJSON(done); err != nil {
			return err
		}
	case what == api.DBBackup:
		a.Printf("%s  %s\n", display.Text(done.Path), display.Bytes(done.Bytes))
	case what == api.DBPrune:
		a.Printf("removed %s, %s, %s, and the output of %s\n", cli.Plural(done.Runs, "run"),
			cli.Plural(done.Skips, "skipped occurrence"), cli.Plural(done.Letters, "dead letter"), cli.Plural(done.Outputs, "run"))
	case len(done.Problems) == 0:
		a.Printf("the history is sound\n")
	default:
		for _, p := range done.Problems {
			a.Printf("%s\n", display.Text(p))
		}
	}
	if len(done.Problems) > 0 {
		a.Report(&api.Error{
			What: fmt.Sprintf("cannot vouch for the history: %s", cli.Plural(len(done.Problems), "problem")),
			Fix:  "put a backup in its place while the daemon is down, or have a new one begun: move cronring.db aside",
		})
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}
