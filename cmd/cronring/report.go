package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/host"
	"github.com/cronring/cronring/cmd/cronring/jobs"
	"github.com/cronring/cronring/cmd/cronring/runs"
)

// newReport returns the command report and its subcommands: views of many jobs at once.
func newReport(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "report",
		Short:   "Report statistics, a timeline, clashes, dependencies, events or metrics",
		Example: "  cronring report stats --since 30d --by hour\n  cronring report clashes --suggest daily",
	}
	cmd.AddCommand(runs.NewStats(a), runs.NewTimeline(a), analysis.NewClashes(a), jobs.NewGraph(a), runs.NewEvents(a), host.NewMetrics(a))
	return cmd
}
