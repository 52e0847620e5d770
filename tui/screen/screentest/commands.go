package screentest

import (
	"context"
	"strings"

	"github.com/cronring/cronring/tui/screen"
)

// Commands are three commands of the command line: run, report stats, and top, which is refused.
type Commands struct{}

// All lists run and report stats.
func (Commands) All() []screen.CommandHelp {
	return []screen.CommandHelp{{Name: "report stats", Short: "Summarize runs"}, {Name: "run", Short: "Run jobs now"}}
}

// Refuses refuses top.
func (Commands) Refuses(words []string) string {
	if words[0] == "top" {
		return "it never ends"
	}
	return ""
}

// Run prints the words. It fails with the word --fail.
func (Commands) Run(_ context.Context, _ int, words []string) (screen.Printed, error) {
	text := strings.Join(words, "|")
	return screen.Printed{Text: text + "\n", Failed: strings.Contains(text, "--fail")}, nil
}
