package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/clitest"
)

// TestProgressOnTerminalsOnly holds that nothing is written with --quiet, and where messages
// do not go to a terminal.
func TestProgressOnTerminalsOnly(t *testing.T) {
	_, inside := clitest.OpenTerminal(t)
	a := New(strings.NewReader(""), os.Stdout, inside)
	if !a.NewProgressLine().Shown {
		t.Error("no progress on a terminal")
	}
	a.Quiet = true
	if a.NewProgressLine().Shown {
		t.Error("progress with --quiet")
	}
	var piped bytes.Buffer
	a.Quiet, a.Err = false, &piped
	line := a.NewProgressLine()
	line.Put("half")
	a.Progress(Elapsed("db check"))()
	if line.Shown || piped.Len() > 0 {
		t.Errorf("progress without a terminal: %q", piped.String())
	}
	if got := Elapsed("db check")(90*time.Second + 3); got != "db check: 1m30s" {
		t.Errorf("got %q", got)
	}
}
