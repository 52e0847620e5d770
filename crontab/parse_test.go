package crontab

import (
	"testing"
	"time"
)

func TestParseReadsWholeTable(t *testing.T) {
	text := "SHELL=/bin/sh\n" +
		"#@ name=backup overlap=skip timeout=1h retry=3 backoff=1s..5m\n" +
		"0 3 * * * root /usr/bin/backup.sh --dir /data%line\\%one%two\n" +
		"61 * * * * root false\n" +
		"@reboot bob -n date +\\%F\n" +
		"0 3 * * * root true\n"
	table, remarks := Parse("/etc/crontab", text, Config{Format: System, Zone: time.LoadLocation})
	for _, d := range remarks {
		t.Log(d, d.Code, d.Severity, d.Fix)
	}
	for i := range table.Entries {
		e := &table.Entries[i]
		in, ok := e.Stdin()
		t.Logf("%d %q %q %q %q %v %v %v %+v", e.Line(), e.Spec(), e.User(), e.Command(), in, ok, e.Env(), e.MailOnFailure(), e.Options())
	}
	if len(table.Entries) != 3 {
		t.Fatalf("got %d entries, want 3", len(table.Entries))
	}
	if table.Entries[0].Schedule != table.Entries[2].Schedule {
		t.Error("equal times do not share a schedule")
	}
}
