package main

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// An error about a command line names what was expected.
func TestErrorsNameWhatIsExpected(t *testing.T) {
	for line, want := range map[string]string{
		"check":                         "cronring calendar check    or: cronring config check    or: cronring db check    or see: cronring --help",
		"notify":                        "fix   cronring config notify    or see: cronring --help",
		"pause x --for y":               `"y" is not a duration: write it like 90s, 5m, 1h30m or 2d`,
		"pause x --for 9999w":           "is longer than 100 years (36525d)\n",
		"brigde":                        "do \"brigde\": no such command\n  fix   cronring --help\n",
		"config check --config /none":   "cannot read \"/none\"\n  why   no such file or directory",
		"ack":                           "cannot acknowledge failures\n  why   name jobs, or use --all: expected one of the two",
		"ack --all x":                   "cannot acknowledge failures\n  why   name jobs, or use --all: expected one of the two",
		"diff":                          "cannot compare crontabs\n  why   neither a file nor a revision is named",
		"pause x --for 1h --until 9:00": "why   --for and --until exclude each other\n",
		"list -qn":                      "unknown flag: -q\n",
		"backfill x":                    "no time is named: expected FROM..TO, or --at T",
	} {
		if _, messages, code := Called(t, "", append(strings.Fields(line), "--socket", "/none")...); code == cli.ExitDone || !strings.Contains(messages, want) {
			t.Errorf("cronring %s: got exit %d and %q, want %q", line, code, messages, want)
		}
	}
}
