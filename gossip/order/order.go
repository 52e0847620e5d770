// Package order owns a heap whose elements know their own index, so that they can be moved
// in it and removed from it.
package order

// Ranked is an element of a Heap: it compares itself with others, and stores its own
// index, which is -1 outside the heap.
type Ranked[T any] interface {
	Before(T) bool
	Stand(int)
}

// Heap is a heap of ranked elements for container/heap, the first on top.
type Heap[T Ranked[T]] []T

// Len is part of heap.Interface.
func (o Heap[T]) Len() int { return len(o) }

// Less is part of heap.Interface.
func (o Heap[T]) Less(i, j int) bool { return o[i].Before(o[j]) }

// Swap is part of heap.Interface.
func (o Heap[T]) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].Stand(i)
	o[j].Stand(j)
}

// Push is part of heap.Interface.
func (o *Heap[T]) Push(x any) {
	x.(T).Stand(len(*o))
	*o = append(*o, x.(T))
}

// Pop is part of heap.Interface.
func (o *Heap[T]) Pop() any {
	old := *o
	last := old[len(old)-1]
	var none T
	old[len(old)-1] = none
	last.Stand(-1)
	*o = old[:len(old)-1]
	return last
}
