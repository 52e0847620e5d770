package crontab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/sidecar"
)

func TestLossesNameEachOptionOfEachEntry(t *testing.T) {
	const text = `#@ default timeout=5m
#@ name=a overlap=skip retry=2 x-team=a
0 1 * * * a
#@ overlap=allow mail=output timeout=0
0 2 * * * b
0 3 * * * c
#@ overlap=skpi tz=Europe/Paris
0 4 * * * d
#@ default
0 5 * * * e
`
	s := &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"a": {User: "bob", Set: []sidecar.Setting{{Key: "priority", Value: "2", File: "c.toml", Line: 7}}}}}
	file, _ := Parse("t", text, Config{Zone: time.LoadLocation, Owner: "bob", Sidecar: s})
	want := []string{
		"t:2:11: overlap=skip: under a plain cron a new run starts beside a running one; busybox skips it",
		"t:2:24: retry=2: under a plain cron there is one attempt",
		"t:3: timeout=5m of line 1: under a plain cron a run can last forever",
		"t:3: priority=2 of c.toml:7: under a plain cron all due jobs start at the same time",
		"t:6: timeout=5m of line 1: under a plain cron a run can last forever",
		"t:7:17: tz=Europe/Paris: under a plain cron its fields are read in the host's zone",
		"t:8: timeout=5m of line 1: under a plain cron a run can last forever",
	}
	var got []string
	for _, d := range file.Losses() {
		got = append(got, d.Error())
		if d.Column > 0 && !strings.HasPrefix(d.Message, strings.Split(text, "\n")[d.Line-1][d.Column-1:d.Column-1+d.Length]) {
			t.Errorf("%v: got length %d", d, d.Length)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
