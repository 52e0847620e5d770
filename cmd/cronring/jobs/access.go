package jobs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// NewAccess returns the command access.
func NewAccess(a *cli.App) *cobra.Command {
	var ref string
	cmd := &cobra.Command{
		Use:     "access [USER]",
		Short:   "Explain what you, or for root a user, may see and do",
		Example: "  cronring access --job backup\n  sudo cronring access alice",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&ref, "job", "", "also with this `JOB`")
	out := a.ListOutput(cmd, cli.FormTable, cli.FormJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		user := ""
		if len(args) > 0 {
			user = args[0]
		}
		x, err := a.Daemon().Access(cmd.Context(), user, ref)
		if err != nil {
			return err
		}
		return a.PrintAnswer(out, x, func() {
			for _, line := range accessLines(&x) {
				a.Printf("%s\n", display.Text(line))
			}
		})
	}
	return cmd
}

func accessLines(x *api.Access) []string {
	lines := []string{fmt.Sprintf("%s: role %s (%s)", x.User, x.Role, x.Why)}
	if len(x.Groups) > 0 {
		lines = append(lines, "groups: "+strings.Join(x.Groups, ", "))
	}
	lines = append(lines, fmt.Sprintf("may see %s, with what they print, and run, stop, pause, resume, acknowledge, retry and backfill %d of them",
		display.Count(x.Sees, "job"), x.Operates))
	if x.Role == "admin" {
		lines = append(lines, "may change all crontabs, reload, and see the whole audit log")
	} else {
		lines = append(lines, "may change only their own crontab")
	}
	if j := x.Job; j != nil {
		lines = append(lines, fmt.Sprintf("%s, as %s: may see it: %s; may operate it: %s (%s)", j.Job, j.User, yesNo(j.Sees), yesNo(j.Operates), j.Why))
	}
	return lines
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
