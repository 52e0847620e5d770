package packaging

import (
	"testing"

	"github.com/cronring/cronring/packaging/machinetest"
)

// A user who uses the job names of other users changes nothing of theirs, and receives no
// information about them.
func TestNamesOfOtherUsers(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "names", files: map[string]string{
		"tables/cron.d/clock": "#@ name=clock sec=*\n* * * * * root echo tick >>/lab/out/jobs/clock\n",
	}}.run(t)
}

// A user of one member of a ring cannot keep root's job of another member from running.
func TestRingNamesOfOtherUsers(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "ring-names"}.run(t)
}
