package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

func newCompletion(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Hidden: true, // packages install its output
		Use:    "completion bash|zsh|fish",
		Short:  "Generate a shell completion script",
		Long: `Generate a shell completion script.

It completes commands, flags and job names. If the daemon does not return the
names within 50 ms, no names are offered.`,
		Example: `  cronring completion bash >/etc/bash_completion.d/cronring
  cronring completion zsh >"${fpath[1]}/_cronring"
  cronring completion fish >~/.config/fish/completions/cronring.fish`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			}
			return cli.UsageError("complete for the shell "+args[0], "it is none of bash, zsh and fish", "cronring completion bash")
		},
	}
}
