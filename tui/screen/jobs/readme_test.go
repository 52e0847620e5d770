package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestReadmeShowsJobs holds the picture at the top of the README to the golden
// screen: its lines are lines of that, in their order.
func TestReadmeShowsJobs(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(screentest.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- screen: lines of testdata/tui/jobs.txtar -->\n```\n")
	picture, _, ok := strings.Cut(rest, "```\n")
	if !ok || strings.Count(picture, "\n") < 10 {
		t.Fatalf("README.md has the picture %q, want lines of the jobs", picture)
	}
	golden, err := txtar.ParseFile(filepath.Join(screentest.Root(t), "testdata", "tui", "jobs.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(golden.Files, func(f txtar.File) bool { return f.Name == "80x24" })
	if at < 0 {
		t.Fatal("jobs.txtar has no screen of 80x24")
	}
	screen := string(golden.Files[at].Data)
	for line := range strings.Lines(picture) {
		line = strings.TrimSuffix(line, "\n")
		before, rest, found := strings.Cut(screen, line)
		if !found || before != "" && !strings.HasSuffix(before, "\n") || strings.Trim(rest[:strings.Index(rest+"\n", "\n")], " ─") != "|" {
			t.Fatalf("the README has the line\n%s\nwhich the screen has not, or not there; left of it:\n%s", line, screen)
		}
		screen = rest
	}
}
