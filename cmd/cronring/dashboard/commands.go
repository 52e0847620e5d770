package dashboard

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/tui/screen"
)

// commands runs commands of the command line for the dashboard, in this process.
type commands struct {
	a        *cli.App
	root     func(*cli.App) *cobra.Command
	readOnly string
}

// All lists the commands in alphabetical order. It omits edit, which is a screen.
func (c commands) All() []screen.CommandHelp {
	app := *c.a
	var all []screen.CommandHelp
	var add func(cmd *cobra.Command, name string)
	add = func(cmd *cobra.Command, name string) {
		for _, sub := range cmd.Commands() {
			name := strings.TrimSpace(name + " " + sub.Name())
			group := sub.HasSubCommands() && !strings.Contains(sub.Use, " ") // it only has help
			if sub.IsAvailableCommand() && sub.Runnable() && !group && name != "edit" && c.Refuses(strings.Fields(name)) == "" {
				_, args, _ := strings.Cut(sub.Use, " ")
				all = append(all, screen.CommandHelp{
					Name: name, Short: sub.Short, Jobs: strings.Contains(args, "JOB"), Needs: args != "" && !strings.HasPrefix(args, "["),
				})
			}
			add(sub, name)
		}
	}
	add(c.root(&app), "")
	slices.SortFunc(all, func(a, b screen.CommandHelp) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Refuses refuses the dashboard itself and, if nothing may be changed, commands that change
// something.
func (c commands) Refuses(words []string) string {
	switch {
	case isOneOf([]string{"top", "tui"}, words):
		return "it is the dashboard"
	case isOneOf([]string{"edit"}, words):
		return "press e on a job, or 5 for the crontab files"
	case c.readOnly != "" && c.Changes(words):
		return c.readOnly
	}
	return ""
}

// Changes reports whether a command may change something.
func (c commands) Changes(words []string) bool {
	if slices.Contains(words, "--dry-run") || slices.Contains(words, "--help") {
		return false
	}
	fixes := func(word string) bool { return strings.HasPrefix(word, "--fix") || strings.HasPrefix(word, "--write") }
	return !isOneOf(lookOnly, words) || slices.ContainsFunc(words, fixes)
}

// Follows reports whether a command has a flag with which it prints while something runs, or prints
// events.
func (c commands) Follows(words []string) bool {
	return isOneOf([]string{"report events"}, words) || c.have(words, "watch", "follow", "wait")
}

// have reports whether words are a command with one of these flags.
func (c commands) have(words []string, flags ...string) bool {
	app := *c.a
	cmd, rest, err := c.root(&app).Find(words)
	return err == nil && cmd.ParseFlags(rest) == nil && slices.ContainsFunc(flags, cmd.Flags().Changed)
}

// Run runs a command on the daemon that is shown. It cannot ask questions: the dashboard has asked.
func (c commands) Run(ctx context.Context, width int, words []string) iter.Seq2[screen.Printed, error] {
	return func(yield func(screen.Printed, error) bool) {
		in, out, err := os.Pipe()
		if err != nil {
			yield(screen.Printed{}, err)
			return
		}
		defer in.Close() // a command that still writes ends
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		app := c.a.Captured(out, width)
		app.Terminal = !c.Follows(words) // a terminal would be drawn over again and again
		root := c.root(app)
		app.NoInput, app.ReadOnly = true, c.a.ReadOnly
		root.SetContext(ctx)
		code := make(chan int, 1)
		go func() {
			code <- app.Run(root, c.withFlags(root, words))
			out.Close()
		}()
		if !screen.YieldPrinted(ctx, in, yield) {
			return
		}
		in.Close()
		yield(screen.Printed{Ended: true, Failed: <-code != 0}, nil)
	}
}

// withFlags adds the flags that connect a command to the daemon that is shown, and the one against
// questions, because the dashboard has asked.
func (c commands) withFlags(root *cobra.Command, words []string) []string {
	cmd, _, err := root.Find(words)
	if err != nil {
		return words
	}
	var flags []string
	if cmd.Flags().Lookup("host") != nil {
		flags = c.a.ConnectionFlags()
	}
	if yes := cmd.Flags().Lookup("yes"); yes != nil && !slices.Contains(words, "--dry-run") {
		flags = append(flags, "--yes=true")
	}
	return append(flags, words...)
}
