package analysis

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/spool"
)

// TestLintTakesAFileForTheUsersOwn: bare names in after= are those of the user's jobs, as in a crontab
// that the user installs.
func TestLintTakesAFileForTheUsersOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	filetest.Write(t, path, "#@ after=tick\n0 0 * * * true\n", 0o644)
	for _, host := range []spool.Host{{Account: "ann", Zone: time.UTC}, {Account: "root", Root: true, Zone: time.UTC}} {
		var l linted
		l.texts = map[string]string{}
		l.files(t.Context(), cli.New(nil, nil, nil), []string{path}, lintFlags{}, spool.SourceOptions{Host: host})
		if len(l.diagnostics) != 1 || !strings.Contains(l.diagnostics[0].Message, "not a job of "+host.Account) {
			t.Errorf("%s: got %v, want that tick is not one of the user's jobs", host.Account, l.diagnostics)
		}
	}
}
