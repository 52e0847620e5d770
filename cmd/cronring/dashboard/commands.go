package dashboard

import (
	"context"
	"io"
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

// mostPrinted bounds the output of a command that is kept, in bytes.
const mostPrinted = 1 << 20

// All lists the commands in alphabetical order.
func (c commands) All() []screen.CommandHelp {
	app := *c.a
	var all []screen.CommandHelp
	var add func(cmd *cobra.Command, name string)
	add = func(cmd *cobra.Command, name string) {
		for _, sub := range cmd.Commands() {
			name := strings.TrimSpace(name + " " + sub.Name())
			if sub.IsAvailableCommand() && !sub.HasSubCommands() && c.Refuses(strings.Fields(name)) == "" {
				all = append(all, screen.CommandHelp{Name: name, Short: sub.Short})
			}
			add(sub, name)
		}
	}
	add(c.root(&app), "")
	slices.SortFunc(all, func(a, b screen.CommandHelp) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Refuses refuses commands that do not end or need the terminal and, if nothing may be changed, those
// that change something.
func (c commands) Refuses(words []string) string {
	switch {
	case isOneOf(unending, words), watches(words), isOneOf([]string{"logs"}, words) && (slices.Contains(words, "-f") || slices.Contains(words, "--follow")):
		return "it never ends: run it in a shell"
	case isOneOf([]string{"edit"}, words):
		return "press 5 for the crontab files, or run it in a shell"
	case c.readOnly != "" && !isOneOf(lookOnly, words):
		return c.readOnly
	}
	return ""
}

// Run runs a command on the daemon that is shown. It cannot ask questions.
func (c commands) Run(ctx context.Context, width int, words []string) (screen.Printed, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return screen.Printed{}, err
	}
	defer in.Close()
	app := c.a.Captured(out, width)
	root := c.root(app)
	app.NoInput, app.ReadOnly = true, c.a.ReadOnly
	if found, _, err := root.Find(words); err == nil && found.Flags().Lookup("host") != nil {
		words = append(c.a.ConnectionFlags(), words...)
	}
	root.SetContext(ctx)
	code := make(chan int, 1)
	go func() {
		code <- app.Run(root, words)
		out.Close()
	}()
	text, err := io.ReadAll(io.LimitReader(in, mostPrinted+1))
	if err != nil {
		return screen.Printed{}, err
	}
	p := screen.Printed{Text: string(text[:min(len(text), mostPrinted)]), Cut: len(text) > mostPrinted}
	if p.Cut {
		return p, nil // the command ends when it writes to the closed pipe
	}
	p.Failed = <-code != 0
	return p, nil
}
