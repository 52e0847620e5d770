package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// helpWidth is the maximum width of a line of help, in columns.
const helpWidth = 100

// usage returns the part of a command's help below its description. The flags of
// the connection are printed once, by the program's own help.
func usage(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if !isGroup(cmd) || !cmd.HasParent() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if len(cmd.Aliases) > 0 {
		b.WriteString("\nAliases:\n  " + cmd.NameAndAliases() + "\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	writeCommands(&b, cmd)
	own, global := flagsOf(cmd)
	if own.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + own.FlagUsagesWrapped(helpWidth))
	}
	switch {
	case !global.HasAvailableFlags():
	case cmd.HasParent():
		b.WriteString("\nGlobal flags: " + strings.Join(names(global), ", ") + " (see cronring --help)\n")
	default:
		b.WriteString("\nGlobal flags:\n" + global.FlagUsagesWrapped(helpWidth))
	}
	writeTopics(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nHelp on a command: %s COMMAND --help\n", cmd.CommandPath())
	}
	return b.String()
}

// writeCommands lists the commands below cmd, by group where there are groups.
func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		title := "\n" + group.Title + "\n"
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "%s  %-*s  %s\n", title, cmd.NamePadding(), sub.Name(), sub.Short)
				title = ""
			}
		}
	}
}

func writeTopics(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasHelpSubCommands() {
		return
	}
	b.WriteString("\nHelp on other topics:\n")
	for _, topic := range cmd.Commands() {
		if topic.IsAdditionalHelpTopicCommand() {
			fmt.Fprintf(b, "  cronring help %-13s  %s\n", topic.Name(), topic.Short)
		}
	}
}

// flagsOf separates a command's flags from those that every command with a
// connection to the daemon has.
func flagsOf(cmd *cobra.Command) (own, global *pflag.FlagSet) {
	own, global = &pflag.FlagSet{}, &pflag.FlagSet{}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(cli.GlobalFlags, f.Name) && (!cmd.HasParent() || cmd.Annotations[cli.UsesDaemon] != "") {
			global.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	return own, global
}

func names(flags *pflag.FlagSet) (all []string) {
	flags.VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
	return all
}
