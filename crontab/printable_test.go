package crontab

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\tb": "a^Ib", "\x00\x1b\x7f": "^@^[^?", "ü": `\303\274`, "": "", `\`: `\`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
