package host

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
)

// NewVersion returns the command version.
func NewVersion(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.Printf("%s", VersionLine())
			return nil
		},
	}
}

// VersionLine is what version and --version print.
func VersionLine() string {
	return fmt.Sprintf("cronring %s %s %s/%s\n", api.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
