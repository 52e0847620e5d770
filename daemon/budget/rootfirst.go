package budget

// RootFirst is a Queue that returns root's items first, so that other users cannot delay them. The
// zero value is empty. It is for one goroutine at a time.
type RootFirst[T any] struct{ root, others Queue[T] }

// Len returns how many items wait.
func (q *RootFirst[T]) Len() int { return q.root.Len() + q.others.Len() }

// Put adds an item of a user.
func (q *RootFirst[T]) Put(user string, item T) {
	if user == Root {
		q.root.Put(user, item)
	} else {
		q.others.Put(user, item)
	}
}

// Take removes root's oldest item, or if there is none, that of the user whose turn it is; ok is
// false if the queue is empty.
func (q *RootFirst[T]) Take() (item T, ok bool) {
	if item, ok = q.TakeRoot(); ok {
		return item, true
	}
	return q.others.Take()
}

// TakeRoot removes root's oldest item; ok is false when there is none.
func (q *RootFirst[T]) TakeRoot() (item T, ok bool) { return q.root.Take() }

// DeleteFunc removes the items for which del returns true.
func (q *RootFirst[T]) DeleteFunc(del func(T) bool) {
	q.root.DeleteFunc(del)
	q.others.DeleteFunc(del)
}
