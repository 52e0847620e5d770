package budget

import (
	"slices"
	"strconv"
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

func TestQueueDeletes(t *testing.T) {
	var q Queue[string]
	for _, item := range []string{"a1", "a2", "b1", "a3", "c1"} {
		q.Put(item[:1], item)
	}
	q.DeleteFunc(func(item string) bool { return item == "a2" || item == "b1" })
	var got []string
	for n := q.Len(); n > 0; n-- {
		item, _ := q.Take()
		got = append(got, item)
	}
	if want := []string{"a1", "c1", "a3"}; !slices.Equal(got, want) || len(q.of)+len(q.users) > 0 {
		t.Errorf("left are %v, then %v and %v, want %v and nothing", got, q.of, q.users, want)
	}
}

func TestRootFirst(t *testing.T) {
	var q RootFirst[string]
	for _, user := range []string{"a", "a", Root, "b", Root} {
		q.Put(user, user+strconv.Itoa(q.Len()))
	}
	q.DeleteFunc(func(item string) bool { return item == "a1" })
	var got []string
	for n := q.Len(); n > 0; n-- {
		item, _ := q.Take()
		got = append(got, item)
	}
	if _, ok := q.TakeRoot(); ok || !slices.Equal(got, []string{"root2", "root4", "a0", "b3"}) {
		t.Errorf("took %v (one more of root: %t), want root's two first, and a1 deleted", got, ok)
	}
}
