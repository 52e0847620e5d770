package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/man/mantest"
)

// hostOfPages is a host on which the examples of the manual pages mean something:
// it has the jobs, files and failures that they mention.
//
//go:embed testdata/manual.sh
var hostOfPages string

// otherEnds are the examples that end otherwise than with 0 on that host, and why.
var otherEnds = map[string]struct {
	codes []int
	why   string
}{
	"cronring status --check":                                        {[]int{cli.ExitProblems}, "a job of the host fails"},
	"cronring diff my.crontab new.crontab":                           {[]int{cli.ExitFailed}, "they differ"},
	"cronring diff new.crontab":                                      {[]int{cli.ExitFailed}, "they differ"},
	"crontab -l | cronring diff - new.crontab":                       {[]int{cli.ExitFailed}, "they differ"},
	"cronring diff --rev 32 --runs 30d":                              {[]int{cli.ExitDone, cli.ExitFailed}, "as the newest revision is"},
	"cronring doctor --fix --dry-run":                                {[]int{cli.ExitDone, cli.ExitProblems}, "as the host is"},
	"cronring doctor":                                                {[]int{cli.ExitDone, cli.ExitProblems}, "as the host is"},
	"cronring backfill report 2026-03-01..2026-03-31 --max-active=2": {[]int{cli.ExitUsage, 6}, "a person is asked whether so many are meant"},
	"cronring rm 'etl*' --comment-out":                               {[]int{cli.ExitUsage, 6}, "a person is asked whether so many are meant"},
	"sudo cronring access alice":                                     {[]int{cli.ExitDone, 3}, "as the host is"},
	"cronring backfill stop 3":                                       {[]int{3}, "there is no third backfill"},
	"cronring retry @failed --since -2h":                             {[]int{cli.ExitDone, 6}, "what the line above runs again may still go"},
	"cronring dead drop 4213":                                        {[]int{3}, "the line above retries the run"},
	"cronring stop 4213 --signal INT --kill-after 2m":                {[]int{3, 6}, "the run is over"},
}

// notTried are the examples that cannot be run on that host, and why.
var notTried = map[string]string{
	`cronring completion zsh >"${fpath[1]}/_cronring"`:    "is for zsh, not for sh",
	"cronring import --shadow --for 1h --against journal": "takes an hour",
	"cronring list -w --fields=job,state,last.id":         "goes on until it is interrupted",
	"cronring top --job etl-orders":                       "draws on a terminal",
	"cronring demo":                                       "draws on a terminal",
	"cronring top -H db-01 -H db-02":                      "draws on a terminal",
}

// tryManual runs every command of the manual pages, those of the verbs' pages too,
// on a host of its own with a daemon. The programs are in bin.
func tryManual(t *testing.T, bin string) {
	space := []string{"-m", "-n", "-p", "-f", "--kill-child", "--mount-proc", "--propagation", "private", "sh", "-ec"}
	if out, err := exec.Command("unshare", append(space, "mount -t tmpfs tmpfs /run; ip link set lo up")...).CombinedOutput(); err != nil {
		hosttest.Missing(t, "no name spaces can be made here: %v: %s", err, out)
	}
	dir := t.TempDir()
	lines, places := commandsOfPages(t, dir)
	for name, text := range map[string]string{"commands": strings.Join(lines, "\n") + "\n", "host.sh": hostOfPages} {
		filetest.Write(t, filepath.Join(dir, name), text, 0o644)
	}
	host := exec.Command("unshare", append(space[:len(space)-1], filepath.Join(dir, "host.sh"), dir, bin)...)
	if out, err := host.CombinedOutput(); err != nil {
		t.Fatalf("the host: %v\n%s", err, out)
	}
	tried := map[string]bool{}
	for i, line := range lines {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		tried[line] = true
		status, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.status", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		code, err := strconv.Atoi(strings.TrimSpace(string(status)))
		if err != nil {
			t.Fatal(err)
		}
		want := otherEnds[line].codes
		if want == nil {
			want = []int{cli.ExitDone}
		}
		if !slices.Contains(want, code) {
			out, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.out", i+1)))
			t.Errorf("%s: %s: got exit %d, want %v\n%s", places[i], line, code, want, out)
		}
	}
	for line, end := range otherEnds {
		if !tried[line] {
			t.Errorf("no page has %q any more, of which is said: %s", line, end.why)
		}
	}
}

// commandsOfPages returns the commands of all pages in the format of host.sh, each with its
// position. It creates the files that they name.
func commandsOfPages(t *testing.T, dir string) (lines, places []string) {
	t.Helper()
	pages := allPages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		examples := examplesOf(t, page, pages[page])
		writeFiles(t, dir, examples)
		begun := false
		for _, e := range examples {
			if e.Kind != mantest.Shell {
				continue
			}
			if !begun {
				lines, places, begun = append(lines, "# "+page), append(places, page), true
			}
			for line := range strings.Lines(strings.ReplaceAll(e.Text, "\\\n", " ")) {
				line = strings.TrimSpace(line)
				if _, not := notTried[line]; !not {
					lines, places = append(lines, line), append(places, e.String())
				}
			}
		}
	}
	return lines, places
}
