// Package board owns the dashboard's copy of the daemon's jobs, and the lists of them by filter and
// order. It has no goroutines and reads no clock.
package board

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// Board is the jobs that the account sees.
type Board struct {
	lines    map[job.ID]*line
	index    *index
	fresh    []*line // jobs that are not in the index yet
	counts   [len(job.States)]int
	paused   int                        // jobs that are paused
	filled   map[string]int             // jobs with a text, by field of optional columns
	unseen   map[string]map[job.ID]bool // jobs that a stream that began has not contained yet, by host on a board of several
	merged   bool                       // the board is one of several hosts
	complete bool
	version  uint64
	texts    uint64 // changes with the jobs and the texts that are in the index
}

// line is a job in lists. It remains while its row changes.
type line struct {
	row  *api.Row // never changed, only replaced: a reader may keep it
	gone bool     // the job is not on the board any more
}

// index has all jobs in order of name, and the texts that a filter without a field tests. It is never
// changed, only replaced, so that a search can read it in another goroutine.
type index struct {
	lines   []*line
	lower   string // textsOf of one job after the other, in lower case, with a line feed after each text
	ends    []int  // of the texts of each job in lower
	version uint64 // Board.texts as indexed
}

// fields are the texts of a row that a filter can name, in addition to the name.
var fields = map[string]func(r *api.Row) string{
	"command":  func(r *api.Row) string { return r.Command },
	"user":     func(r *api.Row) string { return r.User },
	"file":     func(r *api.Row) string { return r.Crontab },
	"schedule": func(r *api.Row) string { return r.Schedule },
	"zone":     func(r *api.Row) string { return r.Zone },
	"label":    func(r *api.Row) string { return r.Labels },
	"owner":    func(r *api.Row) string { return r.Contact },
	"why":      func(r *api.Row) string { return r.Why },
	"host":     func(r *api.Row) string { return r.Node },
}

// optionalFields are the fields that are shown only if a job has a text there.
var optionalFields = []struct {
	name string
	text func(r *api.Row) string
}{{"host", fields["host"]}, {"label", fields["label"]}, {"owner", fields["owner"]}}

// New makes an empty board.
func New() *Board {
	return &Board{lines: map[job.ID]*line{}, index: &index{}, filled: map[string]int{}, unseen: map[string]map[job.ID]bool{}}
}

// Apply takes in what the daemon sent. It does not change the update.
func (b *Board) Apply(u api.BoardUpdate) {
	b.apply("", u)
	b.complete = b.complete || u.Complete
}

// apply takes in rows, and jobs that are gone. At the end of a stream, it removes the jobs that the
// stream did not contain: they are no more, or are no longer to be seen.
func (b *Board) apply(host string, u api.BoardUpdate) {
	if u.Begin {
		b.begin(host)
	}
	b.version++
	for _, row := range u.Rows {
		b.put(host, row)
	}
	for _, id := range u.Gone {
		b.remove(b.idOn(host, id))
	}
	if u.Complete {
		for id := range b.unseen[host] {
			b.remove(id)
		}
		delete(b.unseen, host)
	}
}

func (b *Board) begin(host string) {
	b.unseen[host] = map[job.ID]bool{}
	for id, l := range b.lines {
		if !b.merged || l.row.Node == host {
			b.unseen[host][id] = true
		}
	}
}

func (b *Board) put(host string, row api.Row) {
	if row.Job = b.idOn(host, row.Job); b.merged {
		row.Node = host
	}
	l := b.lines[row.Job]
	if l == nil {
		l = &line{}
		b.fresh = append(b.fresh, l)
	} else {
		b.count(l.row, -1)
	}
	if l.row == nil || textsOf(&row) != textsOf(l.row) {
		b.texts++
	}
	l.row = &row
	b.lines[row.Job] = l
	delete(b.unseen[host], row.Job)
	b.count(&row, 1)
}

// textsOf returns the texts of a row that a filter without a field tests.
func textsOf(r *api.Row) [6]string {
	return [...]string{string(r.Job), r.Command, r.Schedule, r.User, r.Crontab, r.Labels}
}

// count counts a job in or out.
func (b *Board) count(r *api.Row, by int) {
	b.counts[r.State.Severity()] += by
	for _, field := range optionalFields {
		if field.text(r) != "" {
			b.filled[field.name] += by
		}
	}
	if r.Paused {
		b.paused += by
	}
}

func (b *Board) remove(id job.ID) {
	l := b.lines[id]
	if l == nil {
		return
	}
	b.count(l.row, -1)
	l.gone = true
	b.texts++
	delete(b.lines, id)
}

// Len returns the number of jobs.
func (b *Board) Len() int { return len(b.lines) }

// Count returns the number of jobs in a state. All jobs that are paused count as such, also those in a
// worse state.
func (b *Board) Count(s job.State) int {
	if s == job.StatePaused {
		return b.paused
	}
	return b.counts[s.Severity()]
}

// Filled returns the number of jobs with a text in a field that is shown only if a job has one.
func (b *Board) Filled(field string) int { return b.filled[field] }

// Complete reports that the daemon has sent every job.
func (b *Board) Complete() bool { return b.complete }

// Version changes with what is on the board.
func (b *Board) Version() uint64 { return b.version }

// Jobs returns all jobs, in no particular order.
func (b *Board) Jobs() iter.Seq[job.ID] { return maps.Keys(b.lines) }

// Job returns all that is known of a job by its ID.
func (b *Board) Job(id job.ID) (api.Row, bool) {
	l, ok := b.lines[id]
	if !ok {
		return api.Row{}, false
	}
	return *l.row, true
}

// At is the job of an entry, by its place.
func (b *Board) At(file string, number int) (api.Row, bool) {
	for _, l := range b.inOrder().lines {
		if l.row.Line == number && l.row.Crontab == file {
			return *l.row, true
		}
	}
	return api.Row{}, false
}

// inOrder brings the index up to date. New jobs are put between those that it has.
func (b *Board) inOrder() *index {
	if b.index.version == b.texts {
		return b.index
	}
	byName := func(x, y *line) int { return cmp.Compare(x.row.Job, y.row.Job) }
	slices.SortFunc(b.fresh, byName)
	lines := slices.Concat(b.index.lines, b.fresh)
	lines = slices.DeleteFunc(lines, func(l *line) bool { return l.gone })
	slices.SortStableFunc(lines, byName) // fast, because both parts are in order
	size := 0
	for _, l := range lines {
		for _, text := range textsOf(l.row) {
			size += len(text) + 1
		}
	}
	var lower strings.Builder
	lower.Grow(size)
	x := &index{lines: lines, ends: make([]int, len(lines)), version: b.texts}
	for i, l := range lines {
		for _, text := range textsOf(l.row) {
			lower.WriteString(strings.ToLower(text))
			lower.WriteByte('\n')
		}
		x.ends[i] = lower.Len()
	}
	x.lower = lower.String()
	b.index, b.fresh = x, nil
	return x
}

// text returns the texts of job k in lower case, each on a line, and name its name.
func (x *index) text(k int) string { return x.lower[x.start(k) : x.ends[k]-1] }
func (x *index) name(k int) string {
	name, _, _ := strings.Cut(x.text(k), "\n")
	return name
}

func (x *index) start(k int) int {
	if k == 0 {
		return 0
	}
	return x.ends[k-1]
}

// containing reports for each job whether its texts contain a text in lower case. All texts are
// searched as one, which is much faster than each by itself.
func (x *index) containing(text string) []bool {
	meets := make([]bool, len(x.ends))
	for k, at := 0, 0; ; at = x.ends[k] {
		next := strings.Index(x.lower[at:], text)
		if next < 0 {
			return meets
		}
		for at += next; x.ends[k] <= at; k++ {
		}
		meets[k] = at+len(text) <= x.ends[k]
	}
}

// Names returns the names of all jobs in their order, each also in lower case.
func (b *Board) Names() iter.Seq2[string, string] {
	return func(yield func(name, lower string) bool) {
		x := b.inOrder()
		for k, l := range x.lines {
			if !yield(string(l.row.Job), x.name(k)) {
				return
			}
		}
	}
}
