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
	byName   []*line // in order of name, except fresh; some may be gone
	fresh    []*line // jobs that are not in byName yet
	counts   [len(job.States)]int
	paused   int                        // jobs that are paused
	filled   map[string]int             // jobs with a text, by field of optional columns
	unseen   map[string]map[job.ID]bool // jobs that a stream that began has not contained yet, by host on a board of several
	merged   bool                       // the board is one of several hosts
	complete bool
	version  uint64
	texts    uint64 // changes with texts that a search tests
}

// line is a job in lists. It remains while its row changes.
type line struct {
	row  *api.Row // never changed, only replaced: a reader may keep it
	text string   // what a filter without a field tests: join in lower case; empty: the job is gone
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
	return &Board{lines: map[job.ID]*line{}, filled: map[string]int{}, unseen: map[string]map[job.ID]bool{}}
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
	text := join(&row)
	if l.row == nil || text != join(l.row) {
		b.texts++
	}
	l.row, l.text = &row, strings.ToLower(text)
	name := len(row.Job) // parts of the text, which need no memory of their own
	row.Job, row.Command = job.ID(text[:name]), text[name+1:][:len(row.Command)]
	b.lines[row.Job] = l
	delete(b.unseen[host], row.Job)
	b.count(&row, 1)
}

// join returns the texts of a row that a filter without a field tests, each on a line.
func join(r *api.Row) string {
	return strings.Join([]string{string(r.Job), r.Command, r.Schedule, r.User, r.Crontab, r.Labels}, "\n")
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
	l.text = ""
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
	for _, l := range b.inOrder() {
		if l.row.Line == number && l.row.Crontab == file {
			return *l.row, true
		}
	}
	return api.Row{}, false
}

// inOrder brings byName up to date: what is new is put between what is there.
func (b *Board) inOrder() []*line {
	byName := func(x, y *line) int { return cmp.Compare(x.row.Job, y.row.Job) }
	isGone := func(l *line) bool { return l.text == "" }
	b.byName, b.fresh = slices.DeleteFunc(b.byName, isGone), slices.DeleteFunc(b.fresh, isGone)
	if len(b.fresh) > 0 {
		slices.SortFunc(b.fresh, byName)
		b.byName = append(b.byName, b.fresh...)
		slices.SortStableFunc(b.byName, byName) // fast, because both parts are in order
		b.fresh = nil
	}
	return b.byName
}

// Names returns the names of all jobs in their order, each also in lower case.
func (b *Board) Names() iter.Seq2[string, string] {
	return func(yield func(name, lower string) bool) {
		for _, l := range b.inOrder() {
			if !yield(string(l.row.Job), l.lowerName()) {
				return
			}
		}
	}
}

// lowerName returns the name in lower case.
func (l *line) lowerName() string {
	name, _, _ := strings.Cut(l.text, "\n")
	return name
}
