package cli

import (
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/spool"
)

// TestConfigReadsAFileAsTheUsersOwn: the jobs of a file have the names that they have after the user
// installed the file.
func TestConfigReadsAFileAsTheUsersOwn(t *testing.T) {
	for _, tc := range []struct {
		host   spool.Host
		system bool
		want   string
	}{
		{spool.Host{Account: "ann"}, false, "ann"},
		{spool.Host{Account: "ann"}, true, "root"},
		{spool.Host{Account: "root", Root: true}, false, "root"},
	} {
		f := FormatFlags{System: tc.system}
		file, _ := crontab.Parse("my.crontab", "0 0 * * * true\n", f.Config(spool.SourceOptions{Host: tc.host}, "my.crontab"))
		if file.Owner() != tc.want {
			t.Errorf("%+v: the file is a crontab of %s, want %s", tc, file.Owner(), tc.want)
		}
	}
}
