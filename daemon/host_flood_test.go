package daemon

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

// A user's jobs that all print 5 MB each second take neither the memory of the
// daemon nor the starts and the output of root's.
func TestFloodOfAUserLeavesMemoryAndRootsJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: a flood of output takes half a minute")
	}
	h := newTestHost(t)
	ticks := h.fifo("ticks")
	h.write("etc/crontab", "#@ name=clock sec=* log=off\n* * * * * root echo tick; echo tock >&2; echo >"+ticks.Name()+"\n")
	var text strings.Builder
	text.WriteString("#@ default sec=* output-max=1M log=off\n") // timeout(1) ends jobs that outlive the daemon
	for i := range 200 {
		fmt.Fprintf(&text, "#@ name=flood%d\n* * * * * timeout 60 head -c 5000000 /dev/zero\n", i)
	}
	h.userCrontab("ann", annID, text.String())
	h.start()
	const enough = 10
	for r, n := bufio.NewReader(ticks), 0; n < enough; n++ {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	most := h.memory("VmHWM")
	runs, err := h.client.History(h.context(), api.Filter{Refs: []string{"clock"}, Limit: enough})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Runs {
		if _, out := h.ended(r.ID); out != "tick\ntock\n" && out != "tock\ntick\n" {
			t.Errorf("root's run %d printed %q beside a flood", r.ID, out)
		}
	}
	floods, err := h.client.History(h.context(), api.Filter{Refs: []string{"ann/*"}, Limit: 10_000})
	if err != nil || len(floods.Runs) == 0 {
		t.Errorf("%d runs of a flood, error %v", len(floods.Runs), err)
	}
	t.Logf("%d runs of root beside %d of a flood, %d MB of memory", len(runs.Runs), len(floods.Runs), most>>20)
	if most > 200<<20 {
		t.Errorf("the daemon took %d MB, want at most 200", most>>20)
	}
}

// memory returns one of the kernel's memory figures of the daemon in bytes.
func (h *testHost) memory(name string) int {
	h.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), name+":")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return kb << 10
}
