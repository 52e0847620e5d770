package journal

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestManPageNamesEachField holds man/cronringd.8 to the fields of the journal.
func TestManPageNamesEachField(t *testing.T) {
	names := func(text string) []string {
		found := regexp.MustCompile(`\bCRONRING_[A-Z_]+\b`).FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	source, err := os.ReadFile("text_log.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../man/cronringd.8")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "In the journal each entry has fields of its own")
	section, _, _ = strings.Cut(section, ".Sh ")
	if written, told := names(string(source)), names(section); len(written) == 0 || !slices.Equal(written, told) {
		t.Errorf("fields: the program writes %q, the page names %q", written, told)
	}
}
