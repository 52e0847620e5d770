package job

import "testing"

// TestWaitsOnIsStored stores a run that waits for each thing, and reads it again.
func TestWaitsOnIsStored(t *testing.T) {
	seen := map[Reason]WaitsOn{}
	for on := WaitsOnRun; on < allWaitsOn; on++ {
		var r Run
		r.Wait(on)
		if other, ok := seen[r.Reason]; ok || r.Reason == "" || r.Reason.Sentence() == "" {
			t.Errorf("what %d waits on is stored as %q, as is %d", on, r.Reason, other)
		}
		seen[r.Reason] = on
		stored := Run{State: r.State, Reason: r.Reason}
		if got := stored.WaitsOn(); got != on {
			t.Errorf("got %d of %s %s, want %d", got, r.State, r.Reason, on)
		}
		for _, state := range []RunState{RunDecided, RunRunning, RunEnded, RunDropped} {
			if r.State = state; r.WaitsOn() != WaitsOnNothing {
				t.Errorf("a run that is %s waits", state)
			}
		}
	}
	if r := (Run{State: RunQueued}); r.WaitsOn() != WaitsOnNothing {
		t.Error("a run without a reason waits for something that is known")
	}
}
