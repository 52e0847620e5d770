package crontab1

import (
	"os"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/spool"
)

// TestManualHasTheOptionsOfCrontab holds man/crontab.1 to the letters that
// crontab(1) takes, on a host of each family.
func TestManualHasTheOptionsOfCrontab(t *testing.T) {
	page, err := os.ReadFile("../../../man/crontab.1")
	if err != nil {
		t.Fatal(err)
	}
	var printed, taken []string
	for _, item := range clitest.Submatches(string(page), `(?m)^\.It (Fl .*)$`) {
		printed = append(printed, clitest.Submatches(item, `Fl (\w)`)...)
	}
	for letter := 'A'; letter <= 'z'; letter++ {
		for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
			c := Program{Host: spool.Host{Family: family}}
			_, err := c.Parse([]string{"-" + string(letter), "value", "file"})
			if unknown := err != nil && strings.Contains(err.Error(), "invalid option"); !unknown && err != errCluster {
				taken = append(taken, string(letter))
			}
		}
	}
	clitest.CompareSets(t, "options of crontab(1)", taken, printed)
}
