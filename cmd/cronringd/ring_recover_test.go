package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// Two of three voters lose their logs. The third one's becomes the ring's by a command, which
// is refused before.
func TestRingIsRecovered(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: daemons on networks of their own take minutes; make ring runs them")
	}
	t.Parallel()
	l := newDaemonRing(t, api.RingStrict, 3, 200)
	l.pass(3 * time.Second)
	recover := func() error {
		_, err := l.nodes[2].client.ChangeRing(t.Context(), api.RingRequest{Do: api.RingRecover})
		return err
	}
	if err := recover(); err == nil || !strings.Contains(err.Error(), "3 of 3 voters still have their logs") {
		t.Errorf("with all logs: got %v", err)
	}
	for i := range 2 {
		l.signal(i, syscall.SIGKILL)
		l.nodes[i].cmd.Wait()
		if err := os.RemoveAll(filepath.Join(l.dirs[i], "state", "ring", "ledger")); err != nil {
			t.Fatal(err)
		}
	}
	if err := recover(); err == nil || !strings.Contains(err.Error(), "do not answer") {
		t.Errorf("with two voters down: got %v", err)
	}
	for i := range 2 {
		l.nodes[i] = l.launch(i)
	}
	l.until(2, "all voters are up", func(r *api.Ring) bool { return upIn(r) == 3 })
	// Voters report their lost logs a moment after they have started.
	await(t, "the ledger is recovered", func() bool { return recover() == nil })
	l.pass(80 * time.Second)
	for i := range 3 {
		l.until(i, "a leader, and no problem", func(r *api.Ring) bool {
			for _, v := range r.Voters {
				if v.Leader {
					return len(r.Problems) == 0
				}
			}
			return false
		})
	}
	for o, starts := range l.tally() {
		if len(starts) > 1 {
			t.Errorf("%v started %d times: %v", o, len(starts), starts)
		}
	}
	l.checkTokens()
}
