package dashboard

import (
	"context"
	"errors"
	"os"
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
		cmd := &cobra.Command{Use: name, Short: "the command " + name, RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }}
		a.AddConnection(cmd)
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
	return root
}

func TestCommandsOfTheDashboard(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	a.Socket = "/run/x.sock"
	c := commands{a, testRoot, ""}
	run := func(ctx context.Context, words ...string) screen.Printed {
		t.Helper()
		p, err := c.Run(ctx, 72, words)
		if err != nil {
			t.Error(err)
		}
		return p
	}
	if got, want := run(t.Context(), "list", "a b"), (screen.Printed{Text: "72 true true /run/x.sock a b\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := run(t.Context(), "run"); !got.Failed || !strings.Contains(got.Text, "it is broken") {
		t.Errorf("got %+v, want the error", got)
	}
	if got := run(t.Context(), "much"); !got.Cut || len(got.Text) != mostPrinted {
		t.Errorf("got %d bytes, cut: %t, want the first %d", len(got.Text), got.Cut, mostPrinted)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the screen was left
	if got := run(ctx, "wait"); !got.Failed {
		t.Errorf("got %+v, want that it was ended", got)
	}
}

func TestCommandsAreRefused(t *testing.T) {
	a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
	c := commands{a, testRoot, ""}
	for line, refused := range map[string]bool{
		"list": false, "list --watch": true, "list -w": true, "top": true, "report events": true, "logs x": false, "logs x -f": true, "edit": true,
	} {
		if why := c.Refuses(strings.Fields(line)); (why != "") != refused {
			t.Errorf("%s: got %q, want refused: %t", line, why, refused)
		}
	}
	c.readOnly = "--read-only"
	names := []string{}
	for _, x := range c.All() {
		names = append(names, x.Name+": "+x.Short)
	}
	if got := strings.Join(names, ", "); got != "list: the command list" {
		t.Errorf("with --read-only: got %q, want list alone", got)
	}
}
