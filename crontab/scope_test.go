package crontab

import (
	"strings"
	"testing"
	"time"
)

// TestWhatEachHostGoesThroughIsNotOneMembers: a start of a host and a period of
// its own cannot be one member's; on every member they may be.
func TestWhatEachHostGoesThroughIsNotOneMembers(t *testing.T) {
	for _, c := range []struct {
		text    string
		anacron bool
		held    string // part of it, or ""
	}{
		{"#@ scope=ring\n@reboot x\n", false, "@reboot"},
		{"#@ default scope=ring\n@reboot x\n", false, "@reboot"},
		{"#@ scope=all\n@reboot x\n", false, ""},
		{"#@ shards=3\n@reboot x\n", false, ""},
		{"#@ scope=ring\n@daily x\n", false, ""},
		{"#@ scope=ring on=job:a\n0 1 * * * x\n", false, ""},
		{"#@ scope=ring\n1 5 a x\n", true, "anacrontab"},
		{"#@ scope=all\n1 5 a x\n", true, ""},
	} {
		config := Config{Zone: time.LoadLocation}
		if c.anacron {
			config.Format = Anacron
		}
		file, diagnostics := Parse("t", c.text, config)
		held := file.Entries[0].Options().Held
		if (held != "") != (c.held != "") || !strings.Contains(held, c.held) || (len(diagnostics) > 0) != (c.held != "") {
			t.Errorf("%q: held %q with diagnostics %v, want held for %q", c.text, held, diagnostics, c.held)
		}
	}
	file, _ := Parse("t", "#@ shards=3\n1 5 a x\n", Config{Format: Anacron, Zone: time.LoadLocation})
	if o := file.Entries[0].Options(); !strings.Contains(o.Degraded, "shards") {
		t.Errorf("shards above a line of anacrontab: degraded %q, want that it has none", o.Degraded)
	}
}

// What is chosen at random is a host's own, but for a job that hosts share: an
// entry that meant another time on each member would be another job there.
func TestEntriesOfARingMeanTheSameOnAllHosts(t *testing.T) {
	next := func(options string, seed uint64) time.Time {
		file, diagnostics := Parse("t", "#@ name=a "+options+"\n~ ~ * * * x\n", Config{Seed: seed, Owner: "root"})
		if len(file.Entries) != 1 {
			t.Fatalf("%s: %v", options, diagnostics)
		}
		return file.Entries[0].Schedule.Next(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	}
	for options, same := range map[string]bool{"scope=ring": true, "scope=ring spread=1h": true, "scope=ring jitter=1h": true, "scope=host": false, "": false} {
		if one, other := next(options, 1), next(options, 2); one.Equal(other) != same {
			t.Errorf("%q: %s on one host, %s on another", options, one, other)
		}
	}
}
