package clitest

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Contents reads a file from its beginning.
func Contents(t testing.TB, f *os.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Submatches returns the first group of each match of a pattern.
func Submatches(text, pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// CompareSets fails the test if two sets of names differ.
func CompareSets(t *testing.T, what string, inTree, inPage []string) {
	t.Helper()
	slices.Sort(inTree)
	slices.Sort(inPage)
	if diff := cmp.Diff(slices.Compact(inTree), slices.Compact(inPage)); diff != "" {
		t.Errorf("%s of the tree and of the manual page differ (-tree +page):\n%s", what, diff)
	}
}
