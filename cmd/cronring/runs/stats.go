package runs

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/timeinput"
)

// NewStats returns the command stats.
func NewStats(a *cli.App) *cobra.Command {
	var q api.StatsQuery
	by := cli.OneOf("job", "user", "hour", "day", "member")
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "stats [JOB...] [--since T] [--by WORD]",
		Short: "Show run statistics",
		Long: `Show run statistics: success rate, duration, start delay and wasted time. An
attempt that was retried does not count as a failure; its duration counts as
wasted.

At most the newest 1,000,000 runs (100,000 for users other than administrators)
and 100,000 skips are counted. If there are more since T, a message shows from
which time on they are counted.`,
		Example: "  cronring report stats --since 30d --by hour\n  cronring report stats 'etl*' --since -7d",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			q.Refs, q.By = args, by.Value
			st, err := a.Daemon().Stats(cmd.Context(), q)
			if err != nil {
				return err
			}
			if st.Since.After(q.Since) {
				a.Infof("there are too many runs to count them all: these are of the time since %s", st.Since.In(loc).Format(cli.LongTime))
			}
			return printStats(a, st, out, loc)
		},
	}
	a.AddPast(cmd, &q.Since, "since", "30d", "only from `T` on: "+timeinput.Help)
	a.AddPast(cmd, &q.Until, "until", "", "only before `T`")
	cmd.Flags().Var(by, "by", "sum up by `WORD`: job, user, hour (of the day), day, member; hours and days are those of the host's zone")
	out = a.ListOutput(cmd, cli.FormTable, cli.FormWide, cli.FormPlain, cli.FormJSON, cli.FormJSONL)
	a.AddSelection(cmd, out, api.Stats{})
	a.AddZone(cmd, "of --since and --until")
	a.AddColor(cmd)
	return cmd
}

func printStats(a *cli.App, st api.Stats, out *cli.Output, loc *time.Location) error {
	if out.ForPeople() && len(st.Groups) == 0 {
		a.Infof("nothing ran since %s", st.Since.In(loc).Format(cli.LongTime))
		return nil
	}
	t := &cli.Table{Header: []string{st.By, "runs", "ok", "failed", "skipped", "ok%", "p50", "p95", "max", "lag p99", "time", "waste", "cpu", "memory"}}
	for i := range st.Groups {
		addStats(t, &st.Groups[i], st.Groups[i].Name, out)
	}
	if out.ForPeople() && len(st.Groups) > 1 {
		addStats(t, &st.All, "all", out)
	}
	return cli.PrintList(a, out, st, st.Groups, t)
}

func addStats(t *cli.Table, g *api.StatsGroup, name string, out *cli.Output) {
	length := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	memory := strconv.FormatInt(g.Memory, 10)
	if out.ForPeople() {
		length, memory = display.Brief, display.Bytes(g.Memory)
	}
	timed := func(d time.Duration) string {
		if g.Time == 0 {
			return ""
		}
		return length(d)
	}
	t.Add(name, strconv.Itoa(g.Runs), strconv.Itoa(g.OK), strconv.Itoa(g.Failed), strconv.Itoa(g.Skipped), rate(g.OK, g.Runs),
		timed(g.P50), timed(g.P95), timed(g.Max), timed(g.LagP99), length(g.Time), length(g.Waste), length(g.CPU), memory)
	row := t.Rows[len(t.Rows)-1]
	if g.Failed > 0 {
		row[3].Tone, row[5].Tone = cli.Bad, cli.Bad
	}
	if g.Skipped > 0 {
		row[4].Tone = cli.Warn
	}
}

// rate formats a share in percent, "" if there is none. It is only 100 if all are
// included.
func rate(part, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(part*1000/all)/10)
}
