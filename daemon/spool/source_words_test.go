package spool

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
)

func TestErrorsInCronsWords(t *testing.T) {
	for line, want := range map[string]string{
		"61 * * * * true":     "bad minute",
		"  * 24 * * * true":   "bad hour",
		"* *\t0 * * true":     "bad day-of-month",
		"* * * january * x":   "bad month",
		"* * * * mon,8 true":  "bad day-of-week",
		"1,61 99 * * * true":  "bad minute",
		"@dayly true":         "bad time specifier",
		"export A=b":          "bad minute",
		"* * *":               "bad minute",
		"* * * * *":           "bad command",
		"* * * * * * true":    "bad command",
		"* * * * * a\x00true": "bad minute",
		"CRON_TZ=Mars/Base":   "", // cron logs nothing: ours
	} {
		text := "# first\n" + line + "\n"
		_, diagnostics := crontab.Parse("/x", text, crontab.Config{Zone: LoadZone})
		got := cronErrors("/x", text, crontab.User, diagnostics)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], ", line 2 of /x, this line will be ignored") {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, text := range []string{"#@ timeout=soon\n* * * * * true\n", "#@ name=a\n* * * * * x\n#@ name=a\n* * * * * y\n", "\ufeff* * * * * true\n"} {
		_, diagnostics := crontab.Parse("/x", text, crontab.Config{})
		if got := cronErrors("/x", text, crontab.User, diagnostics); len(diagnostics) == 0 || len(got) != 0 {
			t.Errorf("%q: %q, although no line is ignored", text, got)
		}
	}
	text := "* * * * * true"
	_, diagnostics := crontab.Parse("/x", text, crontab.Config{})
	if got, want := cronErrors("/x", text, crontab.User, diagnostics), []string{"missing newline before EOF, line 1 of /x, this line will be ignored"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	text = strings.Repeat("61 25 * * * noise\n", 5000)
	_, diagnostics = crontab.Parse("/x", text, crontab.Config{})
	if got := cronErrors("/x", text, crontab.User, diagnostics); len(got) != maxErrors+1 || got[99] != "bad minute, line 100 of /x, this line will be ignored" {
		t.Errorf("%d lines, the hundredth %q", len(got), got[99])
	}
}
