package view

import (
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// The signs of life and the streams of all users look for one run each, of 10,000 and more.
func TestRunIsFoundWithoutACopyOfAll(t *testing.T) {
	var p Parts
	for id := range job.RunID(10_000) {
		p.Live = append(p.Live, &job.Run{ID: 10_000 - id})
	}
	v := New(p)
	for id, want := range map[job.RunID]bool{0: false, 1: true, 10_000: true, 10_001: false} {
		var r job.Run
		var ok bool
		allocated := testing.AllocsPerRun(10, func() { r, ok = v.Run(id) }) // and once before
		if ok != want || ok && r.ID != id || allocated > 0 {
			t.Errorf("run %d: got %d, %t, want %t; with %v allocations", id, r.ID, ok, want, allocated)
		}
	}
}
