package crontab

import (
	"testing"
	"time"
)

func TestIdentityTellsSchedulesApart(t *testing.T) {
	york, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	utc, local := NewZone(nil), NewZone(york)
	parse := func(spec string, zone *Zone) *Schedule {
		s, _ := ParseSchedule(spec, zone, 1)
		return s
	}
	seen := map[string]string{}
	for name, identity := range map[string]string{
		"daily":        Identity(parse("@daily", utc)),
		"other minute": Identity(parse("1 0 * * *", utc)),
		"in New York":  Identity(parse("@daily", local)),
		"dst=literal":  Identity(parse("@daily", utc).follow(DSTLiteral)),
		"dst=second":   Identity(parse("@daily", utc).follow(DSTSecond)),
		"with jitter":  Identity(Jitter(parse("@daily", utc), time.Minute, 1)),
		"with spread":  Identity(Spread(parse("@daily", utc), time.Minute)),
		"with seconds": Identity(Seconds(parse("@daily", utc), 1<<30)),
		"at boot":      Identity(Reboot),
		"every hour":   Identity(Every(time.Hour, 0)),
	} {
		if other, ok := seen[identity]; ok {
			t.Errorf("%s and %s have one identity: %s", name, other, identity)
		}
		seen[identity] = name
	}
	east, west := time.FixedZone("Local", 3600), time.FixedZone("Local", -3600)
	if a, b := Identity(parse("@daily", NewZone(east))), Identity(parse("@daily", NewZone(west))); a == b {
		t.Errorf("a host that moved has one identity before and after: %s", a)
	}
	if a, b := Identity(parse("@daily", NewZone(east))), Identity(parse("@daily", NewZone(time.FixedZone("Local", 3600)))); a != b {
		t.Errorf("a host that stayed has two identities: %q, %q", a, b)
	}
	line := func(text string, seed uint64) string {
		table, _ := Parse("a", text, Config{Format: Anacron, Family: RHEL, Seed: seed})
		return Identity(table.Entries[0].Schedule)
	}
	if a, b := line("RANDOM_DELAY=600\n1 5 a b\n", 1), line("RANDOM_DELAY=600\n1 5 a b\n", 2); a != b {
		t.Errorf("another draw makes another schedule: %q, %q", a, b)
	}
	if a, b := line("1 5 a b\n", 1), line("7 5 a b\n", 1); a == b {
		t.Errorf("two periods have one identity: %q", a)
	}
	if a, b := Identity(parse("0 0 * * *", utc)), Identity(parse("0  0\t* * *", utc)); a != b {
		t.Errorf("blanks make another schedule: %q, %q", a, b)
	}
	if a, b := Identity(parse("@daily", utc)), Identity(parse("@daily", NewZone(nil))); a != b {
		t.Errorf("the same schedule has two identities: %q, %q", a, b)
	}
}
