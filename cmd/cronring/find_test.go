package main

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/option"
)

// looksFor has, for each option, what a user types who looks for it without knowing its name.
var looksFor = map[string]string{
	"name":           "identity",
	"labels":         "filter lists",
	"enabled":        "not started",
	"protect":        "ask before",
	"tz":             "time zone",
	"dst":            "changes clock",
	"sec":            "seconds",
	"day":            "days of the month",
	"year":           "these years",
	"weeks":          "every week",
	"calendar":       "only dates calendars",
	"except":         "not dates calendars",
	"shift":          "move excluded",
	"window":         "start only times",
	"blackout":       "do not start",
	"outside":        "when allowed",
	"from":           "no occurrence before",
	"until":          "no occurrence after",
	"count":          "first N",
	"every":          "interval",
	"phase":          "offset",
	"delay":          "last run's end",
	"at":             "one time",
	"on":             "start events",
	"trigger":        "only by command",
	"jitter":         "random delay",
	"spread":         "random delay same",
	"grace":          "on time",
	"catchup":        "missed",
	"deadline":       "never start later",
	"pause-counts":   "due in a pause",
	"overlap":        "while a run is active",
	"once-per":       "one success",
	"max-instances":  "at the same time",
	"after":          "wait other jobs",
	"when":           "how many jobs",
	"wait":           "how long to wait",
	"if":             "only if command",
	"pool":           "shared pool",
	"load":           "load average",
	"pressure":       "below this pressure",
	"need-memory":    "free memory",
	"need-disk":      "free space",
	"on-battery":     "battery",
	"unmet":          "condition not met",
	"timeout":        "stop the run",
	"stop-signal":    "signal",
	"stop-grace":     "KILL",
	"ok":             "exit status success",
	"skip-code":      "exit status skipped",
	"retry":          "attempts",
	"backoff":        "between attempts",
	"retry-jitter":   "random",
	"retry-on":       "failures to retry",
	"no-retry-on":    "failures not to retry",
	"breaker":        "suspend failures",
	"on-exhausted":   "last attempt",
	"if-lost":        "lost run",
	"priority":       "order",
	"desc":           "what job for",
	"owner":          "whom to ask",
	"access":         "role",
	"preempt":        "stop preemptible runs",
	"preemptible":    "may be stopped",
	"watchdog":       "sign of life",
	"retry-for":      "total time attempts",
	"quiet":          "log lines",
	"cwd":            "directory starts",
	"umask":          "file mode mask",
	"env":            "variables entry",
	"env-file":       "file of variables",
	"group":          "primary group",
	"sandbox":        "files run can change",
	"network":        "no network",
	"read-only":      "strict can read",
	"write":          "sandbox can change",
	"credential":     "secrets files in memory",
	"nice":           "CPU priority",
	"idle":           "idle CPU",
	"io-weight":      "disk",
	"cpu-weight":     "CPU time",
	"memory":         "memory limit",
	"memory-high":    "memory slows",
	"cpu":            "CPU limit",
	"tasks":          "processes",
	"nofile":         "open files",
	"slice":          "systemd slice",
	"log":            "where output goes",
	"output-max":     "output kept",
	"mail":           "send mail",
	"mailto":         "recipients",
	"notify":         "notification channels",
	"notify-on":      "events to notify",
	"notify-after":   "failure in a row",
	"ping":           "start and end are sent",
	"keep":           "history to keep",
	"max-late":       "warn start later",
	"max-run":        "warn run longer",
	"expect":         "warn without success",
	"scope":          "one member",
	"host":           "only on these hosts",
	"need":           "hosts labels",
	"avoid":          "not on hosts",
	"prefer":         "members to prefer",
	"route":          "choose among",
	"shards":         "runs of each occurrence",
	"if-partitioned": "network partition",
	"quorum":         "visible",
}

// TestEveryOptionIsFound looks for each option in the ways that begin at "cronring help" and at
// "man crontab": by its name, in the list of all options, by a search for its description, and in
// the indexes of crontab(5) and cronring-options(7), to which crontab(1) refers.
func TestEveryOptionIsFound(t *testing.T) {
	called := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := Called(t, "", args...)
		if code != cli.ExitDone || stderr != "" {
			t.Errorf("cronring %s: got exit %d and %q", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}
	if text := called("help"); !strings.Contains(text, "  options ") || !strings.Contains(text, "an option of crontabs") {
		t.Errorf("cronring help names neither the command options nor that help describes an option:\n%s", text)
	}
	all := called("options")
	pages := writtenByHand(t)
	_, first, _ := strings.Cut(pages["crontab.1"], ".Sh SEE ALSO")
	for _, page := range []string{".Xr crontab 5 ,", ".Xr cronring-options 7 ,"} {
		if !strings.Contains(first, page) {
			t.Errorf("crontab(1) does not refer to %s", page)
		}
	}
	found := 0
	for _, o := range option.Vocabulary() {
		found++
		if text := called("help", o.Key+"="); !strings.HasPrefix(text, o.Key+"="+o.Form+": "+o.Meaning+"\n") {
			t.Errorf("cronring help %s=: got %q", o.Key, text)
		}
		if !strings.Contains(all, "\n"+o.Key+"="+o.Form+"\t") {
			t.Errorf("cronring options: no %s=", o.Key)
		}
		words := strings.Fields(looksFor[o.Key])
		if text := called(append([]string{"help"}, words...)...); len(words) == 0 || !strings.Contains("\n"+text, "\n"+o.Key+"= ") {
			t.Errorf("cronring help %s: got no %s= in\n%s", strings.Join(words, " "), o.Key, text)
		}
		for _, page := range []string{"crontab.5", "cronring-options.7"} {
			if !strings.Contains(pages[page], "\n"+o.Key+"="+o.Form+" ") {
				t.Errorf("%s: no %s= in the index", page, o.Key)
			}
		}
	}
	if found != len(looksFor) {
		t.Errorf("got words for %d options, want %d", len(looksFor), found)
	}
}
