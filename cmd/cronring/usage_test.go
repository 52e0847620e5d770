package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// each calls f with every command, also with those below others.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, f)
	}
}

// Every command can be called without arguments: it complains at most.
func TestCommandsTakeNoArguments(t *testing.T) {
	each(tree(t), func(cmd *cobra.Command) {
		_ = cmd.ValidateArgs(nil) // panics without a check of arguments
	})
}

// A letter is the short form of one flag in all commands.
func TestShortFlagsHaveOneMeaning(t *testing.T) {
	meaning := map[string]string{}
	each(tree(t), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" {
				return
			}
			if other := meaning[f.Shorthand]; other != "" && other != f.Name {
				t.Errorf("%s: -%s is --%s, elsewhere --%s", cmd.CommandPath(), f.Shorthand, f.Name, other)
			}
			meaning[f.Shorthand] = f.Name
		})
	})
}

// The help of each command fits in 100 columns, names the global flags in one line, and has
// no empty default.
func TestHelpFits(t *testing.T) {
	each(tree(t), func(cmd *cobra.Command) {
		text := cmd.Short + "\n" + cmd.Long + "\n" + usage(cmd)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s --help: a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		if cmd.HasParent() && strings.Contains(text, "--no-input  ") || strings.Contains(text, "(default )") {
			t.Errorf("%s --help: %s", cmd.CommandPath(), text)
		}
	})
}
