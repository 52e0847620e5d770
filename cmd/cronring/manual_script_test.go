package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/man/mantest"
)

// stand-ins for programs in the cookbook's scripts.
var scriptTools = map[string]string{
	"curl": `printf '%s\n' "$@"`,
	"aws":  `echo "$ANSWER"`,
	"date": `if [ "$1" = -d ]; then exec /bin/date -d "$TODAY $2" "$3"; fi; exec /bin/date -d "$TODAY" "$1"`,
}

// scriptTests has, for each script of the cookbook by a word in it, what it does.
var scriptTests = map[string][]struct {
	env, arg string
	ok       bool
	prints   string
}{
	"last Monday to Friday": {
		{"TODAY=2026-11-30", "", true, ""},  // a Monday
		{"TODAY=2026-10-30", "", true, ""},  // a Friday before the 31st
		{"TODAY=2027-02-26", "", true, ""},  // a Friday before a Sunday, the 28th
		{"TODAY=2026-10-29", "", false, ""}, // the day before
		{"TODAY=2026-10-31", "", false, ""}, // a Saturday
	},
	"hc-ping UUID": {
		{"CRONRING_NOTICE_ON=start", "u", true, "https://hc-ping.com/u/start\n"},
		{"CRONRING_NOTICE_ON=success", "u", true, "https://hc-ping.com/u\n"},
		{"CRONRING_NOTICE_ON=dead", "u", true, "https://hc-ping.com/u/fail\n"},
	},
	"pagerduty FILE": {
		{"CRONRING_NOTICE_ON=fail", "key", true, `"event_action": "trigger"`},
		{"CRONRING_NOTICE_ON=recover", "key", true, `"event_action": "resolve"`},
		{"CRONRING_NOTICE_ON=fail", "key", true, `"routing_key": "4711"`},
		{"CRONRING_NOTICE_ON=fail", "missing", false, ""},
	},
	"invoke FUNCTION": {
		{"ANSWER=None", "f", true, ""},
		{"ANSWER=Unhandled", "f", false, ""},
	},
}

// TestManualScripts runs the scripts of the manual pages.
func TestManualScripts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range scriptTools {
		filetest.Write(t, filepath.Join(dir, name), "#!/bin/sh\n"+text+"\n", 0o755)
	}
	filetest.Write(t, filepath.Join(dir, "key"), "4711\n", 0o600)
	tried := 0
	for page, text := range writtenByHand(t) {
		for _, e := range examplesOf(t, page, text) {
			if e.Kind != mantest.Script {
				continue
			}
			for word, cases := range scriptTests {
				if strings.Contains(e.Text, word) {
					tried++
					for _, c := range cases {
						t.Run(word, func(t *testing.T) { runScript(t, e, dir, c.env, c.arg, c.ok, c.prints) })
					}
				}
			}
		}
	}
	if tried != len(scriptTests) {
		t.Errorf("got %d scripts, want %d", tried, len(scriptTests))
	}
}

func runScript(t *testing.T, e mantest.Example, dir, env, arg string, ok bool, prints string) {
	t.Helper()
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(e.Text, "jq ") {
		hosttest.Missing(t, "%v needs jq", e)
	}
	cmd := exec.Command("sh", "-s", "--", arg)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(e.Text)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CRONRING_NOTICE_HOST=h", "CRONRING_NOTICE_JOB=j", "CRONRING_NOTICE_TEXT=t", env)
	out, err := cmd.CombinedOutput()
	if (err == nil) != ok || !strings.Contains(string(out), prints) {
		t.Errorf("%v with %s: got %v and\n%s\nwant success %t and %q", e, env, err, out, ok, prints)
	}
}
