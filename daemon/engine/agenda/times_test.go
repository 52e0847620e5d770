package agenda

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimesComeDueInOrder compares the heap with a search through all jobs.
func TestTimesComeDueInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	slots := []int{2, 3, 5, 8, 13, 21}
	times, want, over, now := NewTimes(slots), map[int]int64{}, map[int]bool{}, int64(0)
	for range 5000 {
		slot := slots[rng.IntN(len(slots))]
		switch rng.IntN(4) {
		case 0, 1:
			want[slot] = now + rng.Int64N(20) - 2
			delete(over, slot)
			times.Set(slot, want[slot])
		case 2:
			delete(want, slot)
			delete(over, slot)
			times.Clear(slot)
		default:
			now += rng.Int64N(5)
			var due []int
			for _, s := range slots {
				if at, ok := want[s]; ok && at <= now && !over[s] {
					due, over[s] = append(due, s), true
				}
			}
			if got := times.Due(now, nil); !slices.Equal(got, due) {
				t.Fatalf("at %d: got %v, want %v", now, got, due)
			}
		}
		copied := times.Copy()
		for _, s := range slots {
			at, ok := copied.At(s)
			if wanted, set := want[s]; ok != set || ok && at != wanted {
				t.Fatalf("job %d: got %d %t, want %d %t", s, at, ok, wanted, set)
			}
		}
	}
	times.Set(4, 7)
	times.Clear(4)
	if _, ok := times.At(4); ok {
		t.Error("a job that is not among the jobs has a time")
	}
}
