package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewClashes returns the command clashes.
func NewClashes(a *cli.App) *cobra.Command {
	var q api.ClashQuery
	next := cli.Duration(24 * time.Hour)
	suggest := &cli.Choice{Values: []string{"hourly", "daily"}}
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "clashes [JOB...] [--suggest hourly|daily]",
		Short: "List minutes with several starts",
		Long: `List the minutes to come in which jobs start together, the fullest first, as the
schedules have it, and for each the quietest minute within half an hour.

With --suggest instead the five fields for a new job that is due each hour or
each day, at the time when the fewest others start.`,
		Example: "  cronring report clashes --least 10\n  cronring report clashes --suggest daily -o plain --no-header | cut -f1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			q.Refs, q.Suggest = args, suggest.Value
			q.From = a.Now()
			q.To = q.From.Add(time.Duration(next))
			found, err := a.Daemon().Clashes(cmd.Context(), q)
			if err != nil {
				return err
			}
			return printClashes(a, found, out, loc)
		},
	}
	cmd.Flags().Var(&next, "next", "how far to look ahead: `D`, at most 7d")
	cmd.Flags().IntVar(&q.Least, "least", 0, "only minutes with `N` starts or more (default 2)")
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N` minutes (default 20)")
	cmd.Flags().Var(suggest, "suggest", "the best time for a new job that is due each `WORD`: hourly, daily")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON)
	a.AddSelection(cmd, out, api.Clashes{})
	a.AddZone(cmd, "of the times")
	a.AddColor(cmd)
	return cmd
}

func printClashes(a *cli.App, found api.Clashes, out *cli.Output, loc *time.Location) error {
	switch {
	case out.Value == cli.FormJSON:
		return a.PrintJSON(found)
	case found.Suggest != nil:
		printSlot(a, found.Suggest, found.Zone, out)
		return nil
	case out.ForPeople() && len(found.Clashes) == 0:
		a.Infof("no jobs start together until %s", found.To.In(loc).Format(cli.LongTime))
		return nil
	}
	t := &cli.Table{Header: []string{"at", "starts", "quiet", "jobs"}}
	form, quiet := out.TimeForm("Mon 01-02 15:04"), out.TimeForm("15:04")
	for _, c := range found.Clashes {
		t.Add(cli.FormatTime(c.At, form, loc), strconv.Itoa(c.Starts), cli.FormatTime(c.Quiet, quiet, loc), startNames(c))
	}
	a.PrintTable(t, out)
	if more := found.Minutes - len(found.Clashes); more > 0 && out.ForPeople() {
		a.Infof("and %s more; see --number and --least", display.Count(more, "minute"))
	}
	return nil
}

// startNames lists the known jobs of a clash.
func startNames(c api.Clash) string {
	names := make([]string, len(c.Jobs))
	for i, id := range c.Jobs {
		names[i] = string(id)
	}
	text := strings.Join(names, " ")
	if more := c.Starts - len(c.Jobs); more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

func printSlot(a *cli.App, s *api.Slot, zone string, out *cli.Output) {
	t := &cli.Table{Header: []string{"schedule", "starts", "busiest", "zone"}}
	t.Add(s.Schedule, strconv.Itoa(s.Starts), strconv.Itoa(s.Busiest), zone)
	a.PrintTable(t, out)
}
