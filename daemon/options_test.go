package daemon

import (
	"testing"

	"github.com/cronring/cronring/crontab"
)

// Debian's cron marks a failed run in the subject of its mail only with -L 4,
// cronie never does.
func TestMailMarksFailuresOnlyWhereCronDoes(t *testing.T) {
	for _, c := range []struct {
		family crontab.Family
		level  int
		want   bool
	}{
		{crontab.Debian, 0, false},
		{crontab.Debian, 1, false},
		{crontab.Debian, 3, false},
		{crontab.Debian, 4, true},
		{crontab.Debian, 15, true},
		{crontab.RHEL, 15, false},
	} {
		o := &Options{Family: c.family, Cron: Cron{LogLevel: c.level}}
		if got := o.mailConfig().MarkFailed; got != c.want {
			t.Errorf("family %v with -L %d: got %t, want %t", c.family, c.level, got, c.want)
		}
	}
}
