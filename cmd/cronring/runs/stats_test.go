package runs

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/daemon/api"
)

// Statistics of less than the requested time are not taken for all of it.
func TestStatsOfLessThanTheRequestedTime(t *testing.T) {
	asked := time.Date(2026, 10, 21, 0, 0, 0, 0, time.UTC)
	for name, since := range map[string]time.Time{"all": asked, "the newest": asked.Add(21 * 24 * time.Hour)} {
		t.Setenv("CRONRING_SOCKET", clitest.Scripted(t, map[string][]any{"GET /v1/stats": {api.Stats{V: api.Version, Since: since, By: "job"}}}))
		var message bytes.Buffer
		a := cli.New(strings.NewReader(""), os.Stdout, os.Stderr)
		a.Err = &message
		cmd := NewStats(a)
		cmd.SetArgs([]string{"--since", "2026-10-21T00:00:00Z", "-o", "plain"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(message.String(), "since Wed 2026-11-11 00:00:00"), !since.Equal(asked); got != want {
			t.Errorf("of %s: %q", name, message.String())
		}
	}
}
