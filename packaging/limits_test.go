package packaging

import (
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// eaters are jobs that would take a machine down, and some that would not.
const eaters = "#@ name=clock every=1s\n* * * * * root echo tick >>/lab/out/ticks\n" +
	"#@ name=bomb tasks=60 cpu=50% timeout=20s stop-grace=1s\n0 0 29 2 * alice bomb() { : bomb-of-the-lab; while :; do bomb & done; }; bomb\n" +
	"#@ name=hog memory=64M\n0 0 29 2 * alice head -c 900M /dev/zero | tail -n 1 | wc -c; exit 1\n" +
	"#@ name=deaf timeout=2s stop-grace=1s\n0 0 29 2 * alice trap '' TERM; sleep 4242 & while :; do sleep 1; done\n" +
	"#@ name=gone timeout=2s stop-grace=1s\n0 0 29 2 * alice setsid sleep 4343 & setsid -w sh -c 'trap \"\" TERM; sleep 4343'\n" +
	"#@ name=good memory=200M tasks=50 cpu=2 timeout=1m\n0 0 29 2 * alice head -c 30M /dev/zero | tail -n 1 | wc -c\n" +
	"#@ name=left tasks=50\n0 0 29 2 * alice sleep 4444 >/dev/null 2>&1 &\n" +
	"#@ name=sliced slice=jobs tasks=50\n0 0 29 2 * root cat /proc/self/cgroup >/lab/out/where\n" +
	"#@ name=soft memory-high=100M\n0 0 29 2 * root touch /lab/out/soft-ran\n" +
	"#@ name=sleeper memory=100M stop-grace=1s\n0 0 29 2 * alice setsid sleep 4545 & sleep 4545\n"

// late is more than a start is late on a machine that is busy with other
// things, too; beside jobs that really eat it nothing starts for minutes.
const late = time.Minute

func eat(t *testing.T, engine, kernel, version string) {
	t.Helper()
	r := machine{
		engine: engine, kernel: kernel, packages: machinetest.Packages, proof: "limits", args: []string{version}, limit: 20 * time.Minute,
		files: map[string]string{"tables/cron.d/eaters": eaters},
	}.run(t)
	peace, eaten := lag(t, decodeRuns(t, r.file(t, "peace"))), lag(t, decodeRuns(t, r.file(t, "eaten")))
	t.Logf("the slowest start came %v after its second in peace, %v beside jobs that eat the machine", peace, eaten)
	if eaten > late {
		t.Errorf("a start was late by %v, want at most %v", eaten, late)
	}
}

func TestLimitsOfControlGroupsOne(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	eat(t, "", "", "1")
}

func TestLimitsOfControlGroupsTwo(t *testing.T) {
	needLong(t, "the emulated machine takes minutes: CRONRING_LONG=1")
	machinetest.Need(t, "qemu-system-x86_64", "qemu-img")
	eat(t, "qemu", "", "2")
}

// Version 1 alone, as hosts had it that knew no other.
func TestLimitsOfControlGroupsOneAlone(t *testing.T) {
	needLong(t, "the emulated machine takes minutes: CRONRING_LONG=1")
	machinetest.Need(t, "qemu-system-x86_64", "qemu-img")
	eat(t, "qemu", "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1", "1")
}
