package beats

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// TestFloodOfBeats: beats of one run that follow one another closely do not reach the loop, and
// one user does not use up the limit of another.
func TestFloodOfBeats(t *testing.T) {
	b, now := New(nil), time.Unix(1000, 0)
	fresh := 0
	for i := range 10_000 {
		is, within := b.admit("ann", 1, now.Add(time.Duration(i)*10*time.Microsecond))
		if !within {
			t.Fatal("beats of one run exceed the limit of its user")
		}
		if is {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d beats of one run within %s reach the loop, want 1", fresh, spacing)
	}
	now, fresh = now.Add(time.Second), 0
	for i := range 1000 {
		if is, _ := b.admit("ann", job.RunID(i), now); is {
			fresh++
		}
	}
	if fresh != perSecond {
		t.Errorf("%d beats of one user in a second reach the loop, want %d", fresh, perSecond)
	}
	if is, within := b.admit("bob", 5000, now); !is || !within {
		t.Error("another user's beat is refused")
	}
	if is, _ := b.admit("ann", 1, now.Add(time.Second)); !is {
		t.Error("a beat is refused in the next second")
	}
}
