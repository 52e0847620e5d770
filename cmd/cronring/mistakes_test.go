package main

import (
	"os"
	"strings"
	"testing"
)

// TestCommonMistakes compares what lint prints about common mistakes with
// testdata/mistakes.txt, which also shows what version 0.7.0 printed.
func TestCommonMistakes(t *testing.T) {
	text, err := os.ReadFile("../../testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	mistakes := strings.Split(string(text), "\n# ")[1:]
	if len(mistakes) != 20 {
		t.Errorf("got %d mistakes, want 20", len(mistakes))
	}
	for _, mistake := range mistakes {
		title, rest, _ := strings.Cut(mistake, "\n")
		var crontab, want, got []string
		for line := range strings.Lines(rest) {
			if entry, ok := strings.CutPrefix(line, "    "); ok {
				crontab = append(crontab, entry)
			}
			if message, ok := strings.CutPrefix(line, "+ "); ok {
				want = append(want, strings.TrimSpace(message))
			}
		}
		out, _, _ := Called(t, strings.Join(crontab, ""), "lint", "-")
		for line := range strings.Lines(out) {
			if at, message, ok := strings.Cut(line, " "); ok && strings.HasPrefix(at, "-:") {
				got = append(got, strings.Join(strings.Fields(message), " "))
			} else if strings.HasPrefix(line, "      fix: ") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if got, want := strings.Join(got, "\n"), strings.Join(want, "\n"); got != want || got == "" {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", title, got, want)
		}
	}
}

// TestLintComparesCPU needs no host of its own: no host has a thousand processors.
func TestLintComparesCPU(t *testing.T) {
	for text, want := range map[string]bool{"#@ cpu=1000": true, "#@ cpu=50%": false} {
		out, _, _ := Called(t, text+"\n0 * * * * /usr/bin/sync\n", "lint", "-")
		if got := strings.Contains(out, "warning B422 cpu=1000 is above the processors of this host, "); got != want {
			t.Errorf("%s: warned: got %v, want %v\n%s", text, got, want, out)
		}
	}
}
