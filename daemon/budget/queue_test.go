package budget

import (
	"slices"
	"testing"
)

func TestQueueTakesTurns(t *testing.T) {
	var q Queue[string]
	for _, item := range []string{"a1", "a2", "a3", "b1", "a4", "c1", "b2"} {
		q.Put(item[:1], item)
	}
	var got []string
	take := func() {
		if item, ok := q.Take(); ok {
			got = append(got, item)
		}
	}
	for range 5 {
		take()
	}
	q.Put("c", "c2") // whose turn comes after a's
	for q.Len() > 0 {
		take()
	}
	want := []string{"a1", "b1", "c1", "a2", "b2", "a3", "c2", "a4"}
	if !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if _, ok := q.Take(); ok || len(q.of)+len(q.users) > 0 {
		t.Errorf("an empty queue gave something, or keeps %v and %v", q.of, q.users)
	}
}
