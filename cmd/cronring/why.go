package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/safe"
)

func newWhy(a *app) *cobra.Command {
	var at string
	var out *output
	cmd := &cobra.Command{
		Use:   "why JOB [--at T]",
		Short: "Explain why a job ran or did not",
		Long: `Explain why a job ran or did not, in eight steps, and one more for each of if=
and after= that the entry has; the first cross wins.

Without --at it is about the newest occurrence that was missed or skipped, or
else about the newest one; or about a run that somebody asked for since.`,
		Example: "  cronring why backup --at 'yesterday 02:30'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			t, err := a.flagTime("at", at, loc)
			if err != nil {
				return err
			}
			w, err := a.daemon().Why(cmd.Context(), args[0], t)
			if err != nil {
				return err
			}
			if out.word == formJSON {
				return a.printJSON(w)
			}
			a.printWhy(w, loc)
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the occurrence at or in the minute of `T`: "+whenHelp)
	out = a.textOutput(cmd, formText, formJSON)
	a.addSelection(cmd, out, api.Why{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) printWhy(w api.Why, loc *time.Location) {
	a.printf("%s at %s\n", safe.Text(string(w.Job)), w.At.In(loc).Format(stampEyes))
	a.printf("%s %s\n\n", a.stepSign(w.Sum()), safe.Text(w.Verdict))
	for _, step := range w.Steps {
		a.printf("  %s %-9s %s\n", a.stepSign(step.State), step.Name, safe.Text(step.Fact))
	}
	for i, fact := range w.Facts {
		if i == 0 {
			a.printf("\n")
		}
		a.printf("  %s\n", safe.Text(fact))
	}
	for i, r := range w.Remedies {
		if i == 0 {
			a.printf("\ndo one of these\n")
		}
		a.printf("  %s    %s\n", safe.Text(r.What), safe.Text(r.Command))
	}
}

func (a *app) stepSign(s api.StepState) string {
	switch s {
	case api.Passed:
		return a.paint(good, sign("✓", "+"))
	case api.Crossed:
		return a.paint(bad, sign("✗", "x"))
	}
	return "-"
}
