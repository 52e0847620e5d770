package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

func newEnv(a *app) *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:   "env JOB",
		Short: "Tell the environment, account, limits and directory that a run gets",
		Long: `Tell what the next run of a job would find if it started now: its account and
groups, the command, the directory, limits, and each variable. The daemon makes
it of the same that it starts runs with.

Of variables that tell a run about itself the run's number and its parents are
not known before. Where PAM opens a session for the job, that has an environment
and limits of its own, which are not known before either.

-o plain has nothing but the variables, NAME=value, as env(1) does.`,
		Example: "  cronring env backup\n  env -i $(cronring env backup -o plain) sh -c 'my-command'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc, err := a.location()
			if err != nil {
				return err
			}
			e, err := a.daemon().Environment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch out.word {
			case formJSON:
				return a.printJSON(e)
			case formPlain:
				a.printVariables("", e.Env)
				a.printVariables("", e.RunEnv)
				return nil
			}
			a.printEnvironment(e, loc)
			return nil
		},
	}
	out = a.textOutput(cmd, formText, formPlain, formJSON)
	a.addSelection(cmd, out, api.Environment{})
	a.addZone(cmd, "of the times")
	return cmd
}

func (a *app) printEnvironment(e api.Environment, loc *time.Location) {
	a.printField("user", fmt.Sprintf("%s (%d)", e.User, e.UID))
	a.printField("group", strconv.FormatUint(uint64(e.GID), 10))
	groups := make([]string, len(e.Groups))
	for i, gid := range e.Groups {
		groups[i] = strconv.FormatUint(uint64(gid), 10)
	}
	a.printField("groups", strings.Join(groups, " "))
	dir := e.Dir
	if e.InRoot {
		dir += "   (in / if that cannot be entered)"
	}
	a.printField("directory", dir)
	a.printField("command", shellLine(e.Argv))
	for i, l := range e.Limits {
		a.printField(fieldOnce(i, "limits"), fmt.Sprintf("%s soft %s hard %s", l.Name, limitText(l.Soft), limitText(l.Hard)))
	}
	if e.Nice != nil {
		a.printField("nice", strconv.Itoa(*e.Nice))
	}
	for i, o := range e.Held {
		a.printField(fieldOnce(i, "options"), o.Key+"="+o.Value)
	}
	if e.Session {
		a.printField("session", "PAM opens one, with an environment and limits of its own beside these")
	}
	a.printf("\nfor each run\n")
	a.printVariables("  ", e.Env)
	a.printf("\nfor the run that is due %s\n", e.Due.In(loc).Format(stampEyes))
	a.printVariables("  ", e.RunEnv)
}

// limitText is one half of a limit.
func limitText(n *uint64) string {
	switch {
	case n == nil:
		return "as the daemon"
	case *n == ^uint64(0):
		return "unlimited"
	}
	return strconv.FormatUint(*n, 10)
}

func (a *app) printVariables(indent string, entries []string) {
	for _, entry := range entries {
		a.printf("%s%s\n", indent, visible(entry))
	}
}
