package journal

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSyslogStampsFollowTheZoneOfTheHost(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	sink := openScribe(t, Options{Mode: ModeSyslog, Syslog: s.path})
	zone := time.UTC
	sink.to.(*syslog).zone = func() *time.Location { return zone }
	for _, hours := range []int{0, 9, -5} {
		zone = time.FixedZone("", hours*3600)
		sink.Log(&Entry{At: noon, Message: "now"})
		sink.Flush()
		want := noon.In(zone).Format(time.Stamp)
		if got := string(s.read(t)); !strings.Contains(got, ">"+want+" ") {
			t.Errorf("%d hours from UTC: got %q, want it stamped %s", hours, got, want)
		}
	}
}
