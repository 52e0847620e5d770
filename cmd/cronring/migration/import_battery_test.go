package migration

import (
	"context"
	"slices"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
)

// By default anacron started no jobs on battery power; cronring does.
func TestImportSaysThatJobsRunOnBattery(t *testing.T) {
	inventorytest.NeedRoot(t)
	for value, differs := range map[string]bool{"no": true, "yes": false} {
		m := inventorytest.Machine(t, inventorytest.Plant(t, inventorytest.Files{
			"/etc/anacrontab":      "1 5 cron.daily true\n",
			"/etc/default/anacron": "ANACRON_RUN_ON_BATTERY_POWER=" + value + "\n",
		}), crontab.Debian, "UTC")
		settings := m.Settings()
		if r := report(context.Background(), m, []string{"anacron"}); r.Anacron == nil {
			t.Fatal("anacron is not in the report")
		}
		i := slices.IndexFunc(settings, func(s inventory.Setting) bool { return s.Setting == "ANACRON_RUN_ON_BATTERY_POWER="+value })
		if i < 0 || settings[i].Differs != differs {
			t.Errorf("%s: got %+v, want it to differ: %t", value, settings, differs)
		}
	}
}
