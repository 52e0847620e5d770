package jobs

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/timeinput"
)

// NewWhy returns the command why.
func NewWhy(a *cli.App) *cobra.Command {
	var at string
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "why JOB [--at T]",
		Short: "Explain why a job ran or did not",
		Long: `Explain why a job ran or did not, in eight steps, and one more for each of if=
and after= that the entry has; the first cross wins.

Without --at it is about the newest occurrence that waits, or was missed or
skipped; if there is none, about the newest one. If a manual run came later, it
is about that run.

A time without a zone is one of the entry's zone, as for backfill. If clocks show
it twice, it is the one at which the entry runs, or the first.`,
		Example: "  cronring why backup --at 'yesterday 02:30'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			if at != "" {
				from, _, err := cli.OccurrenceTime(at, a.Now().In(loc))
				if err != nil {
					return cli.UsageError("read --at "+strconv.Quote(at), err.Error(), "")
				}
				at = from
			}
			w, err := a.Daemon().WhyAt(cmd.Context(), args[0], at)
			if err != nil {
				return err
			}
			return a.PrintAnswer(out, w, func() { printWhy(a, w, loc) })
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the occurrence at or in the minute of `T`: "+timeinput.Help)
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON)
	a.AddSelection(cmd, out, api.Why{})
	a.AddZone(cmd, "of the times that are shown")
	a.AddColor(cmd)
	return cmd
}

func printWhy(a *cli.App, w api.Why, loc *time.Location) {
	a.Printf("%s at %s\n", display.Text(string(w.Job)), w.At.In(loc).Format(cli.LongTime))
	a.Printf("%s %s\n\n", stepSign(a, w.Sum()), display.Text(w.Verdict))
	for _, step := range w.Steps {
		a.Printf("  %s %-9s %s\n", stepSign(a, step.State), display.Text(string(step.Name)), display.Text(step.Fact))
	}
	for i, fact := range w.Facts {
		if i == 0 {
			a.Printf("\n")
		}
		a.Printf("  %s\n", display.Text(fact))
	}
	for i, r := range w.Remedies {
		if i == 0 {
			a.Printf("\ndo one of these\n")
		}
		a.Printf("  %s    %s\n", display.Text(r.What), display.Text(r.Command))
	}
}

func stepSign(a *cli.App, s api.StepState) string {
	switch s {
	case api.Passed:
		return a.Paint(cli.Good, cli.Sign("✓", "+"))
	case api.Crossed:
		return a.Paint(cli.Bad, cli.Sign("✗", "x"))
	}
	return "-"
}
