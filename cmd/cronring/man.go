package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/man"
)

func newMan(a *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man [SECTION] [PAGE] [--dir DIR]",
		Short: "Show a manual page",
		Long: `Show a manual page, with man(1) or mandoc(1) if one of them is installed. PAGE is a
command, such as list, or a guide, such as tutorial, with or without "cronring-". Pages
are part of the program, so this works where none are installed. If neither man nor
mandoc is installed, print the help of the command. Without PAGE list all pages.

With --dir write all pages into the directory DIR instead.`,
		Example: "  cronring man cookbook\n  cronring man 5 crontab\n  cronring man --dir bin/man",
		Args:    cobra.MaximumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				for _, p := range manual(cmd.Root()) {
					names = append(names, p.short())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			all := manual(cmd.Root())
			switch {
			case dir != "" && len(args) > 0:
				return cli.UsageError("write one page", "--dir writes all pages", "cronring man --dir DIR")
			case dir != "":
				return writePages(a, dir, all)
			case len(args) == 0:
				listPages(a, all)
				return nil
			}
			p, err := pageNamed(all, args)
			if err != nil {
				return err
			}
			return showPage(a, &p)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into `DIR` instead of showing one")
	a.AddPager(cmd)
	a.AddQuiet(cmd)
	return cmd
}

// manualPage is a page of the manual: of a command, or written by hand, or both.
type manualPage struct {
	file   string // "cronring-list.1"
	title  string
	source []byte // mdoc
	verb   *page  // nil: not about a command
}

// name is the name without the section.
func (p *manualPage) name() string { return strings.TrimSuffix(p.file, filepath.Ext(p.file)) }

// section is the section of the manual.
func (p *manualPage) section() string { return filepath.Ext(p.file)[1:] }

// short is the name as users type it.
func (p *manualPage) short() string { return strings.TrimPrefix(p.name(), "cronring-") }

var (
	titleLine = regexp.MustCompile(`(?m)^\.Nd (.*)$`)
	lastPart  = "\n.Sh SEE ALSO\n"
)

// manual returns all pages. If a page written by hand has the name of a command, it also
// describes the command: two pages of one name in different sections would hide each other.
func manual(root *cobra.Command) (all []manualPage) {
	verbs := map[string]*page{}
	for _, verb := range paged(root) {
		verbs[pageName(verb)] = newPage(verb)
	}
	files, err := man.Pages.ReadDir(".")
	for _, f := range files {
		p := manualPage{file: f.Name()}
		p.source, err = man.Pages.ReadFile(p.file)
		if err != nil {
			break
		}
		p.title = string(titleLine.FindSubmatch(p.source)[1])
		if p.verb = verbs[p.name()]; p.verb != nil {
			delete(verbs, p.name())
			before, after, _ := strings.Cut(string(p.source), lastPart)
			p.source = []byte(before + "\n" + p.verb.part() + lastPart[1:] + after)
		}
		all = append(all, p)
	}
	if err != nil {
		panic(err) // the pages are part of the program
	}
	for name, v := range verbs {
		all = append(all, manualPage{file: name + ".1", title: v.short, source: v.mdoc(), verb: v})
	}
	slices.SortFunc(all, func(a, b manualPage) int {
		return cmp.Or(strings.Compare(a.section(), b.section()), strings.Compare(a.file, b.file))
	})
	return all
}

// paged are the verbs that have a page.
func paged(root *cobra.Command) (verbs []*cobra.Command) {
	for _, verb := range root.Commands() {
		if verb.Runnable() && verb.Name() != "help" {
			verbs = append(verbs, verb)
		}
	}
	return verbs
}

// findPage returns the first page with a name, in a section unless that is "".
func findPage(all []manualPage, section, name string) (manualPage, bool) {
	for _, p := range all {
		alias := p.verb != nil && slices.Contains(p.verb.aliases, name)
		if (name == p.name() || name == p.short() || alias) && (section == "" || section == p.section()) {
			return p, true
		}
	}
	return manualPage{}, false
}

// pageNamed returns the page that the arguments of man name.
func pageNamed(all []manualPage, args []string) (manualPage, error) {
	section, name := "", args[len(args)-1]
	if len(args) == 2 {
		section = args[0]
	}
	if p, ok := findPage(all, section, name); ok {
		return p, nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.short())
	}
	fix := "cronring man"
	if near := diagnostic.Nearest(name, names); near != "" {
		fix = "cronring man " + near
	}
	return manualPage{}, &api.Error{Kind: api.NotFound, What: fmt.Sprintf("cannot show the page %q", name), Why: "there is no such page", Fix: fix}
}

func listPages(a *cli.App, all []manualPage) {
	t := &cli.Table{}
	for _, p := range all {
		t.Add(p.name()+"("+p.section()+")", p.title)
	}
	a.PrintTable(t, &cli.Output{Choice: cli.Choice{Value: cli.FormTable}, NoHeader: true})
}

// writePages writes files that everybody can read, whatever the umask: they are installed
// with that mode.
func writePages(a *cli.App, dir string, all []manualPage) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write pages: %w", err)
	}
	for _, p := range all {
		path := filepath.Join(dir, p.file)
		if err := errors.Join(os.WriteFile(path, p.source, 0o644), os.Chmod(path, 0o644)); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	a.Infof("wrote %d pages to %s", len(all), dir)
	return nil
}

// viewers show a page that is a file.
var viewers = [][]string{{"man", "-l"}, {"mandoc", "-a"}}

// showPage shows a page with the first program that can do it. If none can, it prints the
// help of a command.
func showPage(a *cli.App, p *manualPage) error {
	for _, viewer := range viewers {
		if shown, err := view(a, p, viewer); shown || err != nil {
			return err
		}
	}
	if p.verb == nil {
		return &api.Error{Kind: api.NotFound, What: "cannot show the page " + p.name(), Why: "neither man nor mandoc is installed", Fix: "apt install man-db    or: dnf install man-db"}
	}
	return p.verb.cmd.Help()
}

// view shows a page with a program. That reads a file which everybody may read,
// as some leave root's rights.
func view(a *cli.App, p *manualPage, viewer []string) (shown bool, err error) {
	program, err := exec.LookPath(viewer[0])
	if err != nil {
		return false, nil
	}
	dir, err := os.MkdirTemp("", "cronring-man-")
	if err != nil {
		return false, fmt.Errorf("show a page: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, p.file)
	if err := errors.Join(os.WriteFile(path, p.source, 0o644), os.Chmod(path, 0o644), os.Chmod(dir, 0o755)); err != nil {
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
