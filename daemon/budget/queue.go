package budget

import "slices"

// Queue returns the users' items: the items of each user in order, and one item of each user in
// turn, so that a user with many items delays the others by one item at a time. The zero value is
// empty. It is for one goroutine at a time.
type Queue[T any] struct {
	of    map[string][]T
	users []string // users with items; the first has its turn
	n     int
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.n }

// Put adds an item of a user.
func (q *Queue[T]) Put(user string, item T) {
	if q.of == nil {
		q.of = map[string][]T{}
	}
	if len(q.of[user]) == 0 {
		q.users = append(q.users, user)
	}
	q.of[user] = append(q.of[user], item)
	q.n++
}

// Take removes the oldest item of the user whose turn it is; ok is false when
// there is none.
func (q *Queue[T]) Take() (item T, ok bool) {
	if q.n == 0 {
		return item, false
	}
	user := q.users[0]
	q.users = q.users[1:]
	if item = q.take(user); len(q.of[user]) > 0 {
		q.users = append(q.users, user)
	} else {
		delete(q.of, user)
	}
	return item, true
}

// TakeMost removes the oldest item of the user who has most.
func (q *Queue[T]) TakeMost() (item T, ok bool) {
	most := -1
	for i, user := range q.users {
		if most < 0 || len(q.of[user]) > len(q.of[q.users[most]]) {
			most = i
		}
	}
	if most < 0 {
		return item, false
	}
	user := q.users[most]
	if item = q.take(user); len(q.of[user]) == 0 {
		q.users = slices.Delete(q.users, most, most+1)
		delete(q.of, user)
	}
	return item, true
}

// DeleteFunc removes the items for which del returns true.
func (q *Queue[T]) DeleteFunc(del func(T) bool) {
	q.users = slices.DeleteFunc(q.users, func(user string) bool {
		before := len(q.of[user])
		kept := slices.DeleteFunc(q.of[user], del)
		q.of[user] = kept
		q.n -= before - len(kept)
		if len(kept) == 0 {
			delete(q.of, user)
		}
		return len(kept) == 0
	})
}

func (q *Queue[T]) take(user string) (item T) {
	items := q.of[user]
	item, items[0] = items[0], item // let the memory go
	q.of[user] = items[1:]
	q.n--
	return item
}
