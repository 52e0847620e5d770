package crontab

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
)

// TestEveryBuiltInIsWhatHolds writes what is shown as built-in above an entry,
// beside the options that it needs: it must change nothing.
func TestEveryBuiltInIsWhatHolds(t *testing.T) {
	const beside = "retry=1 after=a notify=c "
	parse := func(items string) (*Entry, option.Options) {
		file, diagnostics := Parse("t", "#@ "+items+"\n0 1 * * * x\n", Config{Zone: time.LoadLocation})
		if len(diagnostics) > 0 {
			t.Errorf("%s: %v", items, diagnostics)
		}
		o := *file.Entries[0].Options()
		o.Items, o.Resources = nil, nil
		return &file.Entries[0], o
	}
	e, _ := parse("retry=0")
	for _, o := range e.Effective() {
		value := e.Options().BuiltIn(o.Key)
		switch {
		case o.Key == "stop-grace":
			value = "30s"
		case value == "" && o.Key != "name" && o.Key != "tz":
			t.Errorf("%s is built, and what holds without it is not told", o.Key)
		}
		if o.Key == "retry" || o.Key == "on-exhausted" || value == "" || value[0] == '(' {
			continue
		}
		needs := beside
		if o.Key == "phase" {
			needs += "every=1h "
		}
		if o.Key == "route" {
			needs += "scope=ring "
		}
		_, want := parse(needs)
		_, got := parse(needs + o.Key + "=" + value)
		if o.Key == "output-max" { // the daemon's own
			want.OutputMax = 64 << 10
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s=%s is shown as what holds by itself:\n got %+v\nwant %+v", o.Key, value, got, want)
		}
	}
}

// An entry without stop-grace= has two times until KILL, which are both shown.
func TestEffectiveShowsBothTimesUntilKill(t *testing.T) {
	file, _ := Parse("t", "0 1 * * * x\n#@ stop-grace=1m\n0 1 * * * y\n", Config{Zone: time.LoadLocation})
	for i, want := range []string{"(30s; 10s when a person stops the run)", "1m"} {
		for _, o := range file.Entries[i].Effective() {
			if o.Key == "stop-grace" && o.Value != want {
				t.Errorf("entry %d: stop-grace is %q, want %q", i, o.Value, want)
			}
		}
	}
	if option.DefaultOptions().StopGrace != 30*time.Second || option.ManualStopGrace != 10*time.Second {
		t.Errorf("the times are %s and %s", option.DefaultOptions().StopGrace, option.ManualStopGrace)
	}
}

func TestEffectiveTellsWhereFrom(t *testing.T) {
	s := &sidecar.Sidecar{
		Default: set("retry=2", "mailto=host@example.org", "jitter=9m"),
		Matches: []sidecar.Match{{User: "root", Set: set("timeout=1m")}},
		Jobs:    map[string]sidecar.JobConfig{"j": {Set: set("nice=5")}},
	}
	file, _ := parseWith(t, s, "MAILTO=ops\nCRON_TZ=Asia/Tokyo\nRANDOM_DELAY=3\n#@ default grace=5s keep=9\n#@ name=j keep=7 catchup=once\n0 1 * * * root x\n1 5 * * * root y\n")
	want := map[string]string{
		"retry": "2 [default] 1", "mailto": "ops assignment 1", "tz": "Asia/Tokyo assignment 2", "jitter": "3m assignment 3",
		"grace": "5s #@ default 4", "keep": "7 #@ 5", "name": "j #@ 5", "timeout": "1m [[match]] 1", "nice": "5 [job.NAME] 1",
		"deadline": "1d built-in 0", "catchup": "once #@ 5", "on-exhausted": "dead built-in 0", "overlap": "allow built-in 0",
	}
	for _, o := range file.Entries[0].Effective() {
		got := fmt.Sprint(o.Value, " ", o.Origin, " ", o.Line)
		if want[o.Key] != "" && got != want[o.Key] {
			t.Errorf("%s: got %q, want %q", o.Key, got, want[o.Key])
		}
		delete(want, o.Key)
	}
	if len(want) > 0 {
		t.Errorf("nothing is told of %v", reflect.ValueOf(want).MapKeys())
	}
	daily, _ := Parse("/etc/anacrontab", "RANDOM_DELAY=5\n1 5 cron.daily x\n", Config{Format: Anacron, Family: RHEL, Sidecar: &sidecar.Sidecar{Default: set("catchup=skip")}})
	var text strings.Builder
	for _, o := range daily.Entries[0].Effective() {
		if o.Key == "catchup" || o.Key == "overlap" || o.Key == "jitter" {
			fmt.Fprintf(&text, "%s=%s %s; ", o.Key, o.Value, o.Origin)
		}
	}
	if got := text.String(); got != "jitter=0s built-in; catchup=once built-in; overlap=skip built-in; " {
		t.Errorf("a line of anacrontab: got %s", got)
	}
}
