package main

import (
	"testing"

	"github.com/cronring/cronring/crontab"
)

func TestAddedCommandIsWhatWasTyped(t *testing.T) {
	for _, tc := range []struct {
		words []string
		line  string
		want  string // what the shell gets
	}{
		{[]string{"echo hi | wc"}, "echo hi | wc", "echo hi | wc"},
		{[]string{"echo", "a b", "c"}, "echo 'a b' c", "echo 'a b' c"},
		{[]string{"echo", "it's"}, `echo 'it'\''s'`, `echo 'it'\''s'`},
		{[]string{"date +%F"}, `date +\%F`, "date +%F"},
		{[]string{`date +\%F`}, `date +\%F`, "date +%F"},
		{[]string{`sed 's/\\/%/'`}, `sed 's/\\/\%/'`, `sed 's/\\/%/'`},
		{[]string{`100%`}, `100\%`, "100%"},
	} {
		line := escapePercent(joinWords(tc.words))
		if line != tc.line {
			t.Errorf("%q is written %q, want %q", tc.words, line, tc.line)
		}
		table, _ := crontab.Parse("t", "0 5 * * * "+line+"\n", crontab.Config{})
		if len(table.Entries) != 1 {
			t.Fatalf("%q is no entry", line)
		}
		if got := table.Entries[0].Command(); got != tc.want {
			t.Errorf("%q: the shell gets %q, want %q", tc.words, got, tc.want)
		}
	}
}

func TestSetRefusesWhatIsNoOption(t *testing.T) {
	for setting, ok := range map[string]bool{
		"overlap=skip": true, "x-team=etl": true, "overlap=": true, "nonsense=": true,
		"overlap": false, "overlp=skip": false, "sandbox=strict": false, "=x": false,
	} {
		if err := checkOption(setting); (err == nil) != ok {
			t.Errorf("set JOB %s: got %v, want it taken: %t", setting, err, ok)
		}
	}
}
