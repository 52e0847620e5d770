package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/amount"
	"github.com/cronring/cronring/tui/when"
)

func newStats(a *app) *cobra.Command {
	var q api.StatsQuery
	var since, until string
	by := oneOf("job", "user", "hour", "node")
	var out *output
	cmd := &cobra.Command{
		Use:   "stats [JOB...] [--since T] [--by WORD]",
		Short: "Sum up what runs came to",
		Long: `Sum up what runs came to: how many succeeded, how long they took, how late they
began, and what was in vain. An attempt that another followed is no failure of
its own; what it took counts as waste.`,
		Example: "  cronring stats --since 30d --by hour\n  cronring stats 'etl*' --since -7d",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			if q.Since, err = a.flagSince(since, loc); err != nil {
				return err
			}
			if q.Until, err = a.flagTime("until", until, loc); err != nil {
				return err
			}
			q.Refs, q.By = args, by.word
			st, err := a.daemon().Stats(cmd.Context(), q)
			if err != nil {
				return err
			}
			return a.printStats(st, out, loc)
		},
	}
	cmd.Flags().StringVar(&since, "since", "30d", "from `T` on: as for --until, or 30d for thirty days ago")
	cmd.Flags().StringVar(&until, "until", "", "only before `T`: "+whenHelp)
	cmd.Flags().Var(by, "by", "sum up by `WORD`: job, user, hour (of the day, in the host's zone), node")
	out = a.listOutput(cmd, formTable, formWide, formPlain, formJSON, formJSONL)
	a.addSelection(cmd, out, api.Stats{})
	a.addZone(cmd, "of --since and --until")
	a.addColor(cmd)
	return cmd
}

// flagSince reads an instant, or how long ago it was.
func (a *app) flagSince(text string, loc *time.Location) (time.Time, error) {
	if d, err := crontab.ParseDuration(text); err == nil {
		return a.now().Add(-d), nil
	}
	return a.flagTime("since", text, loc)
}

func (a *app) printStats(st api.Stats, out *output, loc *time.Location) error {
	switch out.word {
	case formJSON:
		return a.printJSON(st)
	case formJSONL:
		return printLines(a, st.Groups)
	}
	if out.forEyes() && len(st.Groups) == 0 {
		a.say("nothing ran since %s", st.Since.In(loc).Format(stampEyes))
		return nil
	}
	t := &table{header: []string{st.By, "runs", "ok", "failed", "skipped", "ok%", "p50", "p95", "max", "lag p99", "time", "waste", "cpu", "memory"}}
	for i := range st.Groups {
		t.addStats(&st.Groups[i], st.Groups[i].Name, out)
	}
	if out.forEyes() && len(st.Groups) > 1 {
		t.addStats(&st.All, "all", out)
	}
	a.printTable(t, out)
	return nil
}

func (t *table) addStats(g *api.StatsGroup, name string, out *output) {
	length := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	memory := strconv.FormatInt(g.Memory, 10)
	if out.forEyes() {
		length, memory = when.Brief, amount.Bytes(g.Memory)
	}
	timed := func(d time.Duration) string {
		if g.Time == 0 {
			return ""
		}
		return length(d)
	}
	t.add(name, strconv.Itoa(g.Runs), strconv.Itoa(g.OK), strconv.Itoa(g.Failed), strconv.Itoa(g.Skipped), rate(g.OK, g.Runs),
		timed(g.P50), timed(g.P95), timed(g.Max), timed(g.LagP99), length(g.Time), length(g.Waste), length(g.CPU), memory)
	row := t.rows[len(t.rows)-1]
	if g.Failed > 0 {
		row[3].tone, row[5].tone = bad, bad
	}
	if g.Skipped > 0 {
		row[4].tone = doubt
	}
}

// rate is a share in percent, "" of none. It says 100 only of all.
func rate(part, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(part*1000/all)/10)
}
