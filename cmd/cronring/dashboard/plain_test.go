package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/filetest"
)

// What is typed into the dashboard of another host is asked of that host.
func TestTypedCommandsGoToTheHostThatIsShown(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	filetest.Write(t, filepath.Join(dir, "ssh"), "#!/bin/sh\necho \"$*\" >>"+asked+"\n", 0o700)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a := cli.New(null, null, null)
	a.Host = "far"
	root := func(a *cli.App) *cobra.Command {
		list := &cobra.Command{Use: "list", RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := a.Daemon().Health(cmd.Context())
			return err
		}}
		a.AddConnection(list)
		root := &cobra.Command{Use: "cronring"}
		root.AddCommand(list)
		return root
	}
	(&plainTop{commands: commands{a: a, root: root}}).command([]string{"list"})
	if text, err := os.ReadFile(asked); err != nil || !strings.Contains(string(text), "-- far cronring bridge") {
		t.Errorf("ssh was called with %q, %v, want the host far", text, err)
	}
}
