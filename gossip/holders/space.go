package holders

import (
	"container/heap"
	"slices"
	"time"
	"unique"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/daemon/job"
)

// keep adds the record of an occurrence. First it removes records that are too old and, if the table is
// full, the oldest record of the user who has the most. If that would be the new one, it is not added.
func (r *Table) keep(o exchange.Occurrence, e *entry, now time.Time) {
	for owner, all := range r.oldest {
		for len(*all) > 0 && (*all)[0].Due < now.Add(-r.limits.Age).UnixNano() {
			r.horizon = max(r.horizon, r.forget(all).Due)
		}
		if len(*all) == 0 {
			delete(r.oldest, owner)
		}
	}
	owner := r.owner(o.Key)
	own := r.oldest.of(owner)
	if len(r.entries) >= r.limits.Marks {
		all := r.oldest[r.oldest.fullest(owner)]
		if all == own && o.Compare((*own)[0]) < 0 {
			r.noteDropped(o)
			return
		}
		r.noteDropped(r.forget(all))
	}
	r.entries[o] = e
	heap.Push(own, o)
}

// owner returns the user of a job, or "" if it is unknown. Unknown jobs share the space of one user:
// no entry of this host depends on them.
func (r *Table) owner(key job.Key) string {
	if r.limits.Owner == nil {
		return ""
	}
	return r.limits.Owner(key)
}

// noteDropped remembers that an occurrence is not recorded for lack of space.
func (r *Table) noteDropped(o exchange.Occurrence) {
	if known, ok := r.newest[o.Key]; ok {
		known.dropped = max(known.dropped, o.Due)
		r.newest[o.Key] = known
	}
}

// forget removes the oldest of a user's occurrences, and returns it.
func (r *Table) forget(all *occurrenceHeap) exchange.Occurrence {
	o := heap.Pop(all).(exchange.Occurrence)
	delete(r.entries, o)
	delete(r.doubles, o)
	delete(r.tried, o)
	return o
}

// Newest returns the newest taken occurrence of each job and the member that took it, if that
// became known after since, by this member's clock.
func (r *Table) Newest(since time.Time) []Mark {
	var list []Mark
	for key, n := range r.newest {
		if n.changed >= since.UnixNano() {
			list = append(list, Mark{Occurrence: exchange.Occurrence{Key: key, Due: n.due}, Member: n.by.Value()})
		}
	}
	slices.SortFunc(list, func(a, b Mark) int { return a.Compare(b.Occurrence) })
	return list
}

// Advance applies the list that another member's Newest returned.
func (r *Table) Advance(list []Mark, now time.Time) {
	for _, n := range list {
		if !r.tooFar(n.Due, now) {
			r.advance(n.Occurrence, unique.Make(n.Member), now)
		}
	}
}

func (r *Table) advance(o exchange.Occurrence, by name, now time.Time) {
	known, ok := r.newest[o.Key]
	if ok && known.due >= o.Due {
		return
	}
	if !ok {
		owner := r.owner(o.Key)
		if len(r.newest) >= r.limits.Keys {
			r.dropJob(owner)
		}
		heap.Push(r.jobs.of(owner), o)
		known.dropped = r.dropped[owner]
	}
	r.newest[o.Key] = newest{o.Due, now.UnixNano(), known.dropped, by}
}

// dropJob forgets a job of the user who has the most: about the one that ran longest ago, such as a
// job that was renamed since. Its occurrences until then count as forgotten.
func (r *Table) dropJob(of string) {
	of = r.jobs.fullest(of)
	all := r.jobs[of]
	for range mostRefreshed { // the due times in the heap are those when it last looked
		oldest := &(*all)[0]
		known := r.newest[oldest.Key].due
		if known <= oldest.Due {
			break
		}
		oldest.Due = known
		heap.Fix(all, 0)
	}
	o := heap.Pop(all).(exchange.Occurrence)
	r.dropped[of] = max(r.dropped[of], r.newest[o.Key].due)
	delete(r.newest, o.Key)
}

// mostRefreshed bounds how many jobs are looked at to forget one.
const mostRefreshed = 1000

// heapByUser contains occurrences by the user of their jobs.
type heapByUser map[string]*occurrenceHeap

// of returns the occurrences of a user.
func (d heapByUser) of(user string) *occurrenceHeap {
	if d[user] == nil {
		d[user] = &occurrenceHeap{}
	}
	return d[user]
}

// fullest returns the user who has the most occurrences, which is the given one if no user has more.
// So a user whose jobs run often drops only occurrences of these jobs.
func (d heapByUser) fullest(user string) string {
	own, most := len(*d.of(user)), user
	for other, all := range d {
		if n := len(*all); n > own && (n > len(*d[most]) || n == len(*d[most]) && other < most) {
			most = other
		}
	}
	return most
}

// occurrenceHeap is a heap of occurrences, the oldest on top.
type occurrenceHeap []exchange.Occurrence

func (d occurrenceHeap) Len() int           { return len(d) }
func (d occurrenceHeap) Less(i, j int) bool { return d[i].Compare(d[j]) < 0 }
func (d occurrenceHeap) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *occurrenceHeap) Push(x any)        { *d = append(*d, x.(exchange.Occurrence)) }
func (d *occurrenceHeap) Pop() any {
	last := len(*d) - 1
	o := (*d)[last]
	*d = (*d)[:last]
	return o
}
