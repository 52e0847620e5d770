package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// newHelp returns the command help. It knows commands and topics, options of crontabs, and
// the pages of the manual.
func newHelp(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC|OPTION=|PAGE|WORD...]",
		Short: "Print help on a command, a topic, an option of crontabs or a page; or search",
		Long: `Print help on a command, a topic such as environment, an option of crontab entries such
as tz=, or a page of the manual such as cookbook. If a command and an option have the same
name, add = for the option. Other words list the commands, options and pages whose
description contains all of them.`,
		Example: "  cronring help backfill\n  cronring help tz=\n  cronring help cookbook\n  cronring help time zone",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				names = helpNames(cmd.Root())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return help(a, cmd.Root(), args) },
	}
}

func help(a *cli.App, root *cobra.Command, args []string) error {
	if found, rest, err := root.Find(args); err == nil && len(rest) == 0 {
		found.InitDefaultHelpFlag()
		return found.Help()
	}
	if len(args) == 1 {
		if o := analysis.FindOption(args[0]); o != nil {
			analysis.PrintOption(a, o)
			return nil
		}
		if p, ok := findPage(manual(root), "", args[0]); ok {
			return showPage(a, &p)
		}
	}
	if found := search(root, args); len(found.Rows) > 0 {
		a.PrintTable(found, &cli.Output{Choice: cli.Choice{Value: cli.FormTable}, NoHeader: true})
		return nil
	}
	fix := "cronring help"
	if near := diagnostic.Nearest(args[0], helpNames(root)); near != "" {
		fix = "cronring help " + near + "    or see: " + fix
	}
	return cli.UsageError("help with \""+strings.Join(args, " ")+"\"", "there is no such command, topic, option or page", fix)
}

// search returns the commands, options and pages whose name or description contains all
// words.
func search(root *cobra.Command, words []string) *cli.Table {
	t := &cli.Table{}
	add := func(name, short, more string) {
		text := strings.ToLower(name + " " + short + " " + more)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }) {
			t.Add(name, short)
		}
	}
	for _, o := range option.Vocabulary() {
		add(o.Key+"=", o.Meaning, o.Values+" "+o.Loss)
	}
	for _, c := range root.Commands() {
		for _, c := range append([]*cobra.Command{c}, c.Commands()...) {
			if c.IsAvailableCommand() {
				add(c.CommandPath(), c.Short, "")
			}
		}
	}
	for _, p := range manual(root) {
		if p.verb == nil {
			add(p.name()+"("+p.section()+")", p.title, "")
		}
	}
	return t
}

// helpNames are the words that help knows.
func helpNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	for _, o := range option.Vocabulary() {
		names = append(names, o.Key+"=")
	}
	for _, p := range manual(root) {
		if p.verb == nil {
			names = append(names, p.short())
		}
	}
	return names
}
