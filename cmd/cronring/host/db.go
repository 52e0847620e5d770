package host

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewDB returns the command db and its subcommands.
func NewDB(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Measure, check, copy or prune the history",
		Long: `Measure, check, copy or prune the history, while jobs continue to run. Only root
and the daemon's own account may do this.`,
		Example: "  cronring db backup\n  cronring db check || cronring db backup",
	}
	cmd.AddCommand(newDBStats(a),
		newDBAction(a, api.DBCheck, "Find damage in the history",
			"Read all of the history and report what is damaged. The exit code is then 8."),
		newDBAction(a, api.DBBackup, "Copy the history",
			`Write a copy of the history into the directory backup beside it, of which the
newest five are kept, and print its path. To restore one, stop the daemon and
put the copy in the place of cronring.db.`),
		newDBAction(a, api.DBPrune, "Remove old history now",
			`Remove what keep= and the limits of the configuration do not keep. The daemon
does this by itself from time to time.`))
	return cmd
}

// newDBAction returns the subcommand that has the daemon do one of its actions.
func newDBAction(a *cli.App, do, short, long string) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use: do, Short: short, Long: long,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			end := func() {}
			if out.Value != cli.FormJSON {
				end = a.Progress(cli.Elapsed("db " + do))
			}
			done, err := a.Daemon().DB(cmd.Context(), do)
			end()
			if err != nil {
				return err
			}
			return printDBDone(a, do, done, out)
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddQuiet(cmd)
	return cmd
}

func newDBStats(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Print the size of the history",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Daemon().DBStats(cmd.Context())
			if err != nil {
				return err
			}
			return a.PrintAnswer(out, s, func() { printDBStats(a, s) })
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	return cmd
}

func printDBStats(a *cli.App, s api.DBStats) {
	a.Printf("%s  %s", display.Text(s.Path), display.Bytes(s.Bytes))
	if s.Free > 0 {
		a.Printf(", of them %s free", display.Bytes(s.Free))
	}
	a.Printf("\n")
	for _, name := range slices.Sorted(maps.Keys(s.Rows)) {
		a.Printf("  %-10s %d\n", display.Text(name), s.Rows[name])
	}
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
		a.Printf("removed %s, %s, %s, and the output of %s\n", display.Count(done.Runs, "run"),
			display.Count(done.Skips, "skipped occurrence"), display.Count(done.DeadLetters, "dead letter"), display.Count(done.Outputs, "run"))
	case len(done.Problems) == 0:
		a.Printf("the history is sound\n")
	default:
		for _, p := range done.Problems {
			a.Printf("%s\n", display.Text(p))
		}
	}
	if len(done.Problems) > 0 {
		a.Report(&api.Error{
			What: fmt.Sprintf("cannot vouch for the history: %s", display.Count(len(done.Problems), "problem")),
			Fix:  "put a backup in its place while the daemon is down, or have a new one begun: move cronring.db aside",
		})
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}
