package timetable

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
		"after an end": Identity(AfterEnd(time.Hour)),
		"and later":    Identity(AfterEnd(2 * time.Hour)),
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
	if a, b := Identity(parse("0 0 * * *", utc)), Identity(parse("0  0\t* * *", utc)); a != b {
		t.Errorf("blanks make another schedule: %q, %q", a, b)
	}
	if a, b := Identity(parse("@daily", utc)), Identity(parse("@daily", NewZone(nil))); a != b {
		t.Errorf("the same schedule has two identities: %q, %q", a, b)
	}
}
