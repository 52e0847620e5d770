package why

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/job"
	"github.com/google/go-cmp/cmp"
)

// TestManWhy holds man/cronring-why.7 to the chain, in its order, and to the
// reasons, with their sentences and something to do about each.
func TestManWhy(t *testing.T) {
	text, err := os.ReadFile("../../../man/cronring-why.7")
	if err != nil {
		t.Fatal(err)
	}
	chain, reasons, _ := strings.Cut(string(text), ".Sh REASONS")
	var want, got []string
	for _, l := range links {
		want = append(want, string(l.name))
	}
	for _, m := range regexp.MustCompile(`(?m)^\.It Cm (\S+)$`).FindAllStringSubmatch(chain, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps of why and of man/cronring-why.7 differ (-why +page):\n%s", diff)
	}
	told, page := map[job.Reason]string{}, map[job.Reason]string{}
	for _, r := range job.Reasons() {
		told[r] = r.Sentence()
	}
	reasons, _, _ = strings.Cut(reasons, ".Sh SEE ALSO")
	for _, item := range strings.Split(reasons, ".It Li ")[1:] {
		word, rest, _ := strings.Cut(item, "\n")
		sentence, todo, _ := strings.Cut(rest, "\n.Pp\n")
		page[job.Reason(word)] = strings.ReplaceAll(sentence, "\n", " ")
		if strings.TrimSpace(strings.TrimPrefix(todo, ".El")) == "" {
			t.Errorf("%s: got nothing to do about it in man/cronring-why.7", word)
		}
	}
	if diff := cmp.Diff(told, page); diff != "" {
		t.Errorf("reasons of the daemon and of man/cronring-why.7 differ (-daemon +page):\n%s", diff)
	}
}
