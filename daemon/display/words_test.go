package display

import (
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "0s",
		1500 * time.Microsecond:       "2ms",
		12420 * time.Millisecond:      "12.4s",
		5 * time.Minute:               "5m",
		62 * time.Second:              "1m2s",
		20 * time.Hour:                "20h",
		23*time.Hour + 20*time.Minute: "23h20m",
		24 * time.Hour:                "1d",
		74 * time.Hour:                "3d2h",
	} {
		if got := Length(d); got != want {
			t.Errorf("length(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestRoundLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "1 min", 30 * time.Minute: "30 min", time.Hour: "1 h", 12 * time.Hour: "12 h", 24 * time.Hour: "1 day", 7 * 24 * time.Hour: "7 days",
	} {
		if got := RoundLength(d); got != want {
			t.Errorf("got %q for %s, want %q", got, d, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"etl-orders": "etl-orders", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "a*": "'a*'",
		"x;y": "'x;y'", "\x1b[2J": "'\x1b[2J'",
	} {
		if got := Quote(text); got != want {
			t.Errorf("quote(%q) = %s, want %s", text, got, want)
		}
	}
	if got, want := ShellLine([]string{"cronring", "run", "a b"}), "cronring run 'a b'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
