package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

func newMan(a *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [VERB] [--dir DIR]",
		Short: "Show the manual page of a command",
		Long: `Show the manual page of a command, with man(1) or mandoc(1) where there is one,
else as plain text. Without VERB list the pages.

With --dir write all pages, or that of VERB, into the directory DIR. They are
made of the same text as --help.`,
		Example: "  cronring man why\n  cronring man --dir /usr/local/share/man/man1",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, verb := range paged(cmd.Root()) {
				if len(args) == 0 {
					names = append(names, verb.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			verbs, err := pagedAs(cmd.Root(), args)
			if err != nil {
				return err
			}
			switch {
			case dir != "":
				return writePages(a, dir, verbs)
			case len(args) == 0:
				listPages(a, verbs)
				return nil
			}
			return showPage(a, newPage(verbs[0]))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write pages into `DIR` instead of showing one")
	a.AddPager(cmd)
	a.AddQuiet(cmd)
	return cmd
}

// paged are the verbs that have a page of their own.
func paged(root *cobra.Command) (verbs []*cobra.Command) {
	for _, verb := range root.Commands() {
		if verb.Runnable() && verb.Name() != "help" {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// pagedAs returns the named command, or all.
func pagedAs(root *cobra.Command, args []string) ([]*cobra.Command, error) {
	all := paged(root)
	if len(args) == 0 {
		return all, nil
	}
	var names []string
	for _, verb := range all {
		if verb.Name() == args[0] || verb.HasAlias(args[0]) {
			return []*cobra.Command{verb}, nil
		}
		names = append(names, verb.Name())
	}
	fix := "cronring man"
	if near := crontab.Nearest(args[0], names); near != "" {
		fix = "cronring man " + near
	}
	return nil, &api.Error{
		Kind: api.NotFound, What: fmt.Sprintf("cannot show the page of %q: there is none", args[0]),
		Why: "each command has a page, and nothing else", Fix: fix,
	}
}

func listPages(a *cli.App, verbs []*cobra.Command) {
	t := &cli.Table{}
	for _, verb := range verbs {
		t.Add(pageName(verb)+"(1)", verb.Short)
	}
	a.PrintTable(t, &cli.Output{Choice: cli.Choice{Value: cli.FormTable}, NoHeader: true})
}

// writePages writes files that everybody can read, whatever the umask: they are installed
// with that mode.
func writePages(a *cli.App, dir string, verbs []*cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	for _, verb := range verbs {
		path := filepath.Join(dir, pageName(verb)+".1")
		if err := errors.Join(os.WriteFile(path, newPage(verb).mdoc(), 0o644), os.Chmod(path, 0o644)); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	if len(verbs) == 1 {
		a.Infof("wrote 1 page to %s", dir)
		return nil
	}
	a.Infof("wrote %d pages to %s", len(verbs), dir)
	return nil
}

// viewers show a page that is a file.
var viewers = [][]string{{"man", "-l"}, {"mandoc", "-a"}}

// showPage has the first program that can do it show a page, and shows it as
// plain text if none can.
func showPage(a *cli.App, p *page) error {
	for _, viewer := range viewers {
		if shown, err := view(a, p, viewer); shown || err != nil {
			return err
		}
	}
	end := a.Page()
	defer end()
	width := 80
	if a.Terminal {
		width = min(max(a.Width, 40), 80)
	}
	a.Printf("%s", p.text(width))
	return nil
}

// view shows a page with a program. That reads a file which everybody may read,
// as some leave root's rights.
func view(a *cli.App, p *page, viewer []string) (shown bool, err error) {
	program, err := exec.LookPath(viewer[0])
	if err != nil {
		return false, nil
	}
	dir, err := os.MkdirTemp("", "cronring-man-")
	if err != nil {
		return false, fmt.Errorf("show a page: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, p.name+".1")
	if err := errors.Join(os.WriteFile(path, p.mdoc(), 0o644), os.Chmod(path, 0o644), os.Chmod(dir, 0o755)); err != nil {
		return false, fmt.Errorf("show a page: %w", err)
	}
	to := &counter{to: a}
	cmd := exec.Command(program, append(viewer[1:], path)...)
	cmd.Stdout = to
	if a.Terminal {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, a.Err
		cmd.Env = pagerEnv(a)
		signal.Ignore(os.Interrupt) // it is the pager's from here on
	}
	// A program that printed something has succeeded; the exit code of a pager means
	// nothing.
	err = cmd.Run()
	return err == nil && (a.Terminal || to.n > 0), nil
}

// counter forwards a result and counts its bytes.
type counter struct {
	to *cli.App
	n  int
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return c.to.Out.Write(p)
}

// pagerEnv has man(1) page as this program does.
func pagerEnv(a *cli.App) []string {
	env := os.Environ()
	if a.NoPager {
		return append(env, "MANPAGER=cat", "PAGER=cat")
	}
	if pager := strings.TrimSpace(os.Getenv("CRONRING_PAGER")); pager != "" {
		return append(env, "MANPAGER="+pager)
	}
	return env
}
