package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

func newClashes(a *app) *cobra.Command {
	var q api.ClashQuery
	next := durationFlag(24 * time.Hour)
	suggest := &choice{words: []string{"hourly", "daily"}}
	var out *output
	cmd := &cobra.Command{
		Use:   "clashes [JOB...] [--suggest hourly|daily]",
		Short: "List the minutes in which jobs start together",
		Long: `List the minutes to come in which jobs start together, the fullest first, as the
schedules have it, and for each the quietest minute within half an hour.

With --suggest instead the five fields for a new job that is due each hour or
each day, at the time when the fewest others start.`,
		Example: "  cronring clashes --least 10\n  cronring clashes --suggest daily -o plain --no-header | cut -f1",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			q.Refs, q.Suggest = args, suggest.word
			q.From = a.now()
			q.To = q.From.Add(time.Duration(next))
			found, err := a.daemon().Clashes(cmd.Context(), q)
			if err != nil {
				return err
			}
			return a.printClashes(found, out, loc)
		},
	}
	cmd.Flags().Var(&next, "next", "look so far ahead: `D`, at most 7d")
	cmd.Flags().IntVar(&q.Least, "least", 0, "only minutes with `N` starts or more (default 2)")
	cmd.Flags().IntVarP(&q.Limit, "number", "n", 0, "at most `N` minutes (default 20)")
	cmd.Flags().Var(suggest, "suggest", "the best time for a new job that is due each `WORD`: hourly, daily")
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON)
	a.addSelection(cmd, out, api.Clashes{})
	a.addZone(cmd, "of the times")
	a.addColor(cmd)
	return cmd
}

func (a *app) printClashes(found api.Clashes, out *output, loc *time.Location) error {
	switch {
	case out.word == formJSON:
		return a.printJSON(found)
	case found.Suggest != nil:
		a.printSlot(found.Suggest, found.Zone, out)
		return nil
	case out.forEyes() && len(found.Clashes) == 0:
		a.say("no jobs start together until %s", found.To.In(loc).Format(stampEyes))
		return nil
	}
	t := &table{header: []string{"at", "starts", "quiet", "jobs"}}
	form, quiet := stampPlain, stampPlain
	if out.forEyes() {
		form, quiet = "Mon 01-02 15:04", "15:04"
	}
	for _, c := range found.Clashes {
		t.add(formatTime(c.At, form, loc), strconv.Itoa(c.Starts), formatTime(c.Quiet, quiet, loc), startNames(c))
	}
	a.printTable(t, out)
	if more := found.Minutes - len(found.Clashes); more > 0 && out.forEyes() {
		a.say("and %s more; see --number and --least", plural(more, "minute"))
	}
	return nil
}

// startNames lists the jobs of a clash, as far as they are told.
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

func (a *app) printSlot(s *api.Slot, zone string, out *output) {
	t := &table{header: []string{"schedule", "starts", "busiest", "zone"}}
	t.add(s.Schedule, strconv.Itoa(s.Starts), strconv.Itoa(s.Busiest), zone)
	a.printTable(t, out)
}
