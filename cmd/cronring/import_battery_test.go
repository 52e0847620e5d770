package main

import (
	"context"
	"testing"

	"github.com/cronring/cronring/crontab"
)

// anacron did nothing on battery unless it was told to; cronring does.
func TestImportSaysThatJobsRunOnBattery(t *testing.T) {
	needRoot(t)
	for value, differs := range map[string]bool{"no": true, "yes": false} {
		m := planted(t, plant(t, hostFiles{
			"/etc/anacrontab":      "1 5 cron.daily true\n",
			"/etc/default/anacron": "ANACRON_RUN_ON_BATTERY_POWER=" + value + "\n",
		}), crontab.Debian, "UTC")
		s := m.anacronSetting("ANACRON_RUN_ON_BATTERY_POWER", value)
		if r := m.report(context.Background(), []string{"anacron"}); r.Anacron == nil {
			t.Fatal("anacron is not in the report")
		}
		if s.Differs != differs {
			t.Errorf("%s: said %q, differs %t", value, s.Becomes, s.Differs)
		}
	}
}
