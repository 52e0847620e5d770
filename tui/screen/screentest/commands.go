package screentest

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/screen"
)

// Commands are some commands of the command line: report stats and report events, resume and run.
// The command top is refused.
type Commands struct{}

// All lists the commands.
func (Commands) All() []screen.CommandHelp {
	return []screen.CommandHelp{
		{Name: "report events", Short: "Print everything as it happens"}, {Name: "report stats", Short: "Summarize runs", Jobs: true},
		{Name: "resume", Short: "End pauses", Jobs: true, Needs: true}, {Name: "run", Short: "Run jobs now", Jobs: true, Needs: true},
	}
}

// Refuses refuses top.
func (Commands) Refuses(words []string) string {
	if words[0] == "top" {
		return "it is the dashboard"
	}
	return ""
}

// Changes reports whether it is run or resume.
func (Commands) Changes(words []string) bool { return words[0] == "run" || words[0] == "resume" }

// Follows reports whether it is report events, or has the flag --follow.
func (Commands) Follows(words []string) bool {
	return slices.Contains(words, "events") || slices.Contains(words, "--follow")
}

// Run prints each word in a part of its own. It fails with the word --fail.
func (Commands) Run(_ context.Context, _ int, words []string) iter.Seq2[screen.Printed, error] {
	return func(yield func(screen.Printed, error) bool) {
		for _, word := range words {
			if !yield(screen.Printed{Text: word + "\n"}, nil) {
				return
			}
		}
		yield(screen.Printed{Ended: true, Failed: strings.Contains(strings.Join(words, " "), "--fail")}, nil)
	}
}
