package runs

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// actions prints the audit log.
func actions(a *cli.App, cmd *cobra.Command, f *historyFlags, loc *time.Location) error {
	found, err := a.Daemon().Actions(cmd.Context(), api.ActionQuery{
		Refs: f.filter.Refs, Since: f.filter.Since, Until: f.filter.Until, Limit: f.filter.Limit,
	})
	if err != nil {
		return err
	}
	end := a.Page()
	defer end()
	return cli.PrintList(a, f.out, found, found.Actions, actionTable(found.Actions, f.out, loc))
}

func actionTable(all []job.Action, out *cli.Output, loc *time.Location) *cli.Table {
	t := &cli.Table{Header: []string{"at", "who", "what", "subject", "before", "after", "why", "from", "uid"}}
	form := out.TimeForm("Mon 01-02 15:04:05")
	for _, x := range all {
		uid := ""
		if x.UID != nil {
			uid = strconv.FormatUint(uint64(*x.UID), 10)
		}
		who, after := x.Who, x.After
		if out.ForPeople() {
			who = cmp.Or(who, "not known")
		}
		if x.Refused != "" {
			after = "refused: " + x.Refused
		}
		t.Add(cli.FormatTime(x.At, form, loc), who, x.What, x.Subject, x.Before, after, x.Why, x.From, uid)
		if x.Refused != "" {
			t.Rows[len(t.Rows)-1][5].Tone = cli.Bad
		}
	}
	return t
}
