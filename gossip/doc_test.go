package gossip

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/gossip/link"
)

// verbs is a Link that lists the verbs of the requests that a member answers.
type verbs struct {
	Requester
	all []string
}

func (v *verbs) Handle(verb string, _ link.Handler) { v.all = append(v.all, verb) }

// TestPackageCommentListsRequests: the table of messages has each request that a member
// answers, and no others.
func TestPackageCommentListsRequests(t *testing.T) {
	handled := &verbs{}
	if _, err := New(Options{Ring: "r", ID: "a", Name: "a", Weight: 1, Link: handled}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "Each is known by its verb:\n//\n")
	table, _, _ = strings.Cut(table, "//\n// memberlist")
	var listed []string
	for line := range strings.Lines(table) {
		listed = append(listed, strings.Fields(line)[1])
	}
	slices.Sort(listed)
	slices.Sort(handled.all)
	if !slices.Equal(listed, handled.all) {
		t.Errorf("the package comment lists %v, but members answer %v", listed, handled.all)
	}
}
