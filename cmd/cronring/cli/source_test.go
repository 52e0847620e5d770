package cli

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/spool"
)

// TestConfigReadsAFileAsTheUsersOwn: the jobs of a file have the names that they have after the user
// installed the file, and the limit of entries applies.
func TestConfigReadsAFileAsTheUsersOwn(t *testing.T) {
	for _, tc := range []struct {
		host   spool.Host
		system bool
		want   string
		limit  bool
	}{
		{spool.Host{Account: "ann"}, false, "ann", true},
		{spool.Host{Account: "ann"}, true, "root", false},
		{spool.Host{Account: "root", Root: true}, false, "root", false},
	} {
		f := FormatFlags{System: tc.system}
		c := f.Config(spool.SourceOptions{Host: tc.host, Settings: spool.Settings{MaxEntries: 1}}, "my.crontab")
		file, _ := crontab.Parse("my.crontab", "0 0 * * * true\n0 1 * * * true\n", c)
		if file.Owner() != tc.want {
			t.Errorf("%+v: the file is a crontab of %s, want %s", tc, file.Owner(), tc.want)
		}
		if file.Truncated() != tc.limit {
			t.Errorf("%+v: the limit of one entry applies: %v, want %v", tc, file.Truncated(), tc.limit)
		}
	}
}

// TestParseReadsAFileAsTheCallersOwn: Parse reads a file for the user who runs the command, in the zone.
func TestParseReadsAFileAsTheCallersOwn(t *testing.T) {
	var f FormatFlags
	file, diagnostics := f.Parse(Source{Name: "my.crontab", Text: "0 0 * * * true\n"}, time.FixedZone("east", 3600))
	if want := spool.ThisHost().Account; file.Owner() != want || len(file.Entries) != 1 {
		t.Fatalf("got a crontab of %s with %d entries and %v, want one of %s with one entry", file.Owner(), len(file.Entries), diagnostics, want)
	}
	if got := file.Entries[0].Schedule.Next(time.Unix(0, 0)).Unix(); got != 23*3600 {
		t.Errorf("midnight in the zone: got %d, want 23:00 UTC", got)
	}
}
