package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

func newDoctor(*cli.App) *cobra.Command { return linuxOnly("doctor") }

func newImport(*cli.App) *cobra.Command { return linuxOnly("import") }

// linuxOnly is a command that examines the host that it runs on, which can only be a Linux host.
func linuxOnly(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Examine the host: on Linux only", DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.UsageError("run "+name+": on Linux only", "it examines the host that it runs on", "ssh HOST cronring "+name)
		},
	}
}
