package beats

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// admit is the whole way of a beat that comes from the run.
func admit(a *admission, user string, id job.RunID, now time.Time) (fresh, within bool) {
	if fresh, within = a.try(user, id, now); fresh {
		a.pass(id, now)
	}
	return fresh, within
}

// TestFloodOfBeats: beats of one run that follow one another closely do not reach the loop, and
// one user does not use up the limit of another.
func TestFloodOfBeats(t *testing.T) {
	a, now := newAdmission(), time.Unix(1000, 0)
	fresh := 0
	for i := range 10_000 {
		is, within := admit(&a, "ann", 1, now.Add(time.Duration(i)*10*time.Microsecond))
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
		if is, _ := admit(&a, "ann", job.RunID(i), now); is {
			fresh++
		}
	}
	if fresh != perSecond {
		t.Errorf("%d beats of one user in a second reach the loop, want %d", fresh, perSecond)
	}
	if is, within := admit(&a, "bob", 5000, now); !is || !within {
		t.Error("another user's beat is refused")
	}
	if is, _ := admit(&a, "ann", 1, now.Add(time.Second)); !is {
		t.Error("a beat is refused in the next second")
	}
}

// TestFloodOfOthersBeats: what other processes of a user send for a run is counted, and does not take the
// place of the run's own beat.
func TestFloodOfOthersBeats(t *testing.T) {
	a, now := newAdmission(), time.Unix(1000, 0)
	for i := range perSecond - 1 {
		if fresh, within := a.try("ann", 1, now); !fresh || !within {
			t.Fatalf("beat %d is not looked at", i)
		}
	}
	if fresh, _ := admit(&a, "ann", 1, now); !fresh {
		t.Error("the run's own beat is refused")
	}
	if _, within := a.try("ann", 2, now); within {
		t.Errorf("more than %d beats of one user are looked at in a second", perSecond)
	}
}

// TestFloodOfMessages: readers rest until the next second when a user's runs send too much, and only
// those of that user.
func TestFloodOfMessages(t *testing.T) {
	a, now := newAdmission(), time.Unix(1000, 0)
	for i := range messagesPerSecond {
		if d := a.delay("ann", now); d != 0 {
			t.Fatalf("message %d: the reader rests for %s", i, d)
		}
	}
	if d := a.delay("ann", now.Add(300*time.Millisecond)); d != 700*time.Millisecond {
		t.Errorf("the reader rests for %s, want the rest of the second", d)
	}
	if d := a.delay("bob", now); d != 0 {
		t.Errorf("another user's reader rests for %s", d)
	}
	if d := a.delay("ann", now.Add(time.Second)); d != 0 {
		t.Errorf("in the next second the reader rests for %s", d)
	}
}
