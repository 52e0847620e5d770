package host

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

func newConfigEnv(a *cli.App) *cobra.Command {
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "env JOB",
		Short: "Show the environment, user, limits and directory of a job",
		Long: `Show what a run of a job would get if it started now: user and groups, the
command, the directory, limits, and each variable. It is built exactly as for a
real run: a process of the job's user reads the file of env-file=.

The variables with the run's number and its parents are unknown in advance. If PAM
opens a session for the job, the environment and limits of the session are unknown
in advance too.

-o plain has nothing but the variables, NAME=value, as env(1) does.`,
		Example: "  cronring config env backup\n  env -i $(cronring config env backup -o plain) sh -c 'my-command'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			loc := a.Location()
			e, err := a.Daemon().Environment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch out.Value {
			case cli.FormJSON:
				return a.PrintJSON(e)
			case cli.FormPlain:
				printVariables(a, "", e.Env)
				printVariables(a, "", e.RunEnv)
				return nil
			}
			printEnvironment(a, e, loc)
			return nil
		},
	}
	out = a.TextOutput(cmd, cli.FormText, cli.FormPlain, cli.FormJSON)
	a.AddSelection(cmd, out, api.Environment{})
	a.AddZone(cmd, "of the times")
	return cmd
}

func printEnvironment(a *cli.App, e api.Environment, loc *time.Location) {
	a.PrintField("user", fmt.Sprintf("%s (%d)", e.User, e.UID))
	a.PrintField("group", strconv.FormatUint(uint64(e.GID), 10))
	groups := make([]string, len(e.Groups))
	for i, gid := range e.Groups {
		groups[i] = strconv.FormatUint(uint64(gid), 10)
	}
	a.PrintField("groups", strings.Join(groups, " "))
	dir := e.Dir
	if e.InRoot {
		dir += "   (in / if that cannot be entered)"
	}
	a.PrintField("directory", dir)
	if e.Umask != "" {
		a.PrintField("umask", e.Umask)
	}
	if e.Sandbox != "" {
		a.PrintField("sandbox", e.Sandbox)
		a.PrintField("can read", cli.EscapeText(strings.Join(e.Readable, " ")))
		a.PrintField("can change", cli.EscapeText(cmp.Or(strings.Join(e.Writable, " "), "nothing")))
	}
	if e.NoNetwork {
		a.PrintField("network", "none but a loopback interface of its own")
	}
	for i, one := range e.Credentials {
		a.PrintField(cli.FirstOnly(i, "credentials"), cli.EscapeText(one))
	}
	a.PrintField("command", display.ShellLine(e.Argv))
	for i, l := range e.Limits {
		a.PrintField(cli.FirstOnly(i, "limits"), fmt.Sprintf("%s soft %s hard %s", l.Name, limitText(l.Soft), limitText(l.Hard)))
	}
	if e.Nice != nil {
		a.PrintField("nice", strconv.Itoa(*e.Nice))
	}
	for i, o := range e.Held {
		a.PrintField(cli.FirstOnly(i, "options"), option.Written(o.Key, o.Value))
	}
	if e.Session {
		a.PrintField("session", "PAM opens one, with an environment and limits of its own beside these")
	}
	a.Printf("\nfor each run\n")
	printVariables(a, "  ", e.Env)
	a.Printf("\nfor the run that is due %s\n", e.Due.In(loc).Format(cli.LongTime))
	printVariables(a, "  ", e.RunEnv)
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

func printVariables(a *cli.App, indent string, entries []string) {
	for _, entry := range entries {
		a.Printf("%s%s\n", indent, cli.EscapeText(entry))
	}
}
