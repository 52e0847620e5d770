package outbox

import (
	"testing"
	"time"
)

// The last letter of a user is gone, and the next one arrives before the turn of the
// first has ended: the second is picked once.
func TestLanesPickEachLetterOnce(t *testing.T) {
	q, now := newLanes(), time.Now()
	first, second := &item{number: 1, user: "ann"}, &item{number: 2, user: "ann"}
	q.add(first)
	if it, _ := q.pick(now); it != first {
		t.Fatalf("picked %+v, want the first", it)
	}
	q.remove(first)
	q.add(second)
	if it, _ := q.pick(now); it != second {
		t.Fatalf("picked %+v, want the second", it)
	}
	q.release(first)
	if it, _ := q.pick(now); it != nil {
		t.Errorf("picked letter %d a second time, while its mailer runs", it.number)
	}
}
