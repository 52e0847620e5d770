package command

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// TestOptionsPageNamesEachVariable compares the manual with the environment of jobs.
func TestOptionsPageNamesEachVariable(t *testing.T) {
	find := func(path, pattern string) (names []string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile(pattern).FindAllString(string(text), -1) {
			names = append(names, regexp.MustCompile(`\b(CRONRING_[A-Z_]+|TRACEPARENT|NOTIFY_SOCKET|WATCHDOG_USEC)`).FindAllString(line, -1)...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	set := append(find("environ.go", `e\.Set\("[A-Z_]+=`), job.EventVariable, job.EventUser, job.PathsVariable)
	slices.Sort(set)
	told := find("../../../man/cronring-options.7", `(?m)^\.It Ev .*`)
	if len(set) < 10 || !slices.Equal(set, told) {
		t.Errorf("variables: the program sets %v, the page names %v", set, told)
	}
}
