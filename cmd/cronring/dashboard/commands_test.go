package dashboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/tui/screen"
)

// testRoot has commands that print the width, print without end until their reader is gone, and fail.
func testRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{Use: "cronring", SilenceErrors: true, SilenceUsage: true}
	add := func(name string, run func(ctx context.Context, args []string) error) {
		cmd := &cobra.Command{Use: name + map[string]string{"run": " JOB..."}[name], Short: "the command " + name, RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }}
		a.AddConnection(cmd)
		cmd.Flags().Bool("watch", false, "")
		root.AddCommand(cmd)
	}
	add("list", func(_ context.Context, args []string) error {
		a.Printf("%d %t %t %s %s\n", a.Width, a.Terminal, a.NoInput, a.Socket, strings.Join(args, "|"))
		return nil
	})
	add("run", func(context.Context, []string) error { return errors.New("it is broken") })
	add("much", func(context.Context, []string) error {
		for a.Out.Flush() == nil {
			a.Printf("%s\n", strings.Repeat("x", 1000))
		}
		return nil
	})
	add("wait", func(ctx context.Context, _ []string) error {
		<-ctx.Done()
		return ctx.Err()
	})
	add("edit", nil)
	group := &cobra.Command{Use: "report", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	group.AddCommand(&cobra.Command{Use: "stats", Short: "the command stats", RunE: func(*cobra.Command, []string) error { return nil }})
	root.AddCommand(group)
	remove := &cobra.Command{Use: "rm", RunE: func(cmd *cobra.Command, args []string) error {
		a.Printf("%s %s\n", cmd.Flag("yes").Value, strings.Join(args, "|"))
		return nil
	}}
	remove.Flags().BoolP("yes", "y", false, "")
	root.AddCommand(remove)
	return root
}

func TestCommandsOfTheDashboard(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Socket = "/run/x.sock"
	c := commands{a, testRoot, ""}
	run := func(ctx context.Context, words ...string) (text string, last screen.Printed) {
		t.Helper()
		for p, err := range c.Run(ctx, 72, words) {
			if err != nil {
				t.Error(err)
			}
			text += p.Text
			last = p
		}
		return text, last
	}
	if got, _ := run(t.Context(), "list", "a b"); got != "72 true true /run/x.sock a b\n" {
		t.Errorf("got %q, want the width of a terminal and the socket", got)
	}
	if got, _ := run(t.Context(), "list", "--watch"); got != "72 false true /run/x.sock \n" {
		t.Errorf("followed: got %q, want no terminal", got)
	}
	if got, _ := run(t.Context(), "rm", "a"); got != "true a\n" {
		t.Errorf("got %q, want no question", got)
	}
	if got, last := run(t.Context(), "run"); !last.Failed || !strings.Contains(got, "it is broken") {
		t.Errorf("got %q, %+v, want the error", got, last)
	}
	for p := range c.Run(t.Context(), 72, []string{"much"}) {
		if p.Text != "" {
			break // its reader is gone: it ends
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the screen was left
	if _, last := run(ctx, "wait"); !last.Failed {
		t.Errorf("got %+v, want that it was ended", last)
	}
}

func TestCommandsAreRefused(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	c := commands{a, testRoot, ""}
	for line, refused := range map[string]bool{
		"list": false, "list --watch": false, "top": true, "report events": false, "edit": true,
	} {
		if why := c.Refuses(strings.Fields(line)); (why != "") != refused {
			t.Errorf("%s: got %q, want refused: %t", line, why, refused)
		}
	}
	for line, want := range map[string][2]bool{ // that it changes something, and that it is followed
		"list": {false, false}, "list --watch": {false, true}, "run x": {true, false}, "run x --watch": {true, true}, "run x --dry-run": {false, false},
		"lint x": {false, false}, "doctor --fix": {true, false}, "report events": {false, true}, "nothing": {true, false},
	} {
		if got := [2]bool{c.Changes(strings.Fields(line)), c.Follows(strings.Fields(line))}; got != want {
			t.Errorf("%s: changes, follows: got %v, want %v", line, got, want)
		}
	}
	all := c.All()
	if i := slices.IndexFunc(all, func(x screen.CommandHelp) bool { return x.Name == "run" }); i < 0 || !all[i].Jobs || !all[i].Needs {
		t.Errorf("got %+v, want that run takes jobs", all)
	}
	c.readOnly = "--read-only"
	names := []string{}
	for _, x := range c.All() {
		names = append(names, fmt.Sprintf("%s: %s %t %t", x.Name, x.Short, x.Jobs, x.Needs))
	}
	if got := strings.Join(names, ", "); got != "list: the command list false false, report stats: the command stats false false" {
		t.Errorf("with --read-only: got %q, want list and report stats alone", got)
	}
}
