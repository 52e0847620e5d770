package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/agenda"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// TestSimulationOfEdits edits a crontab around the instants at which its jobs are due,
// also during bursts. It checks invariant 1 by this rule: the last text saved before an
// instant defines the jobs of that instant, and each of them is decided once.
func TestSimulationOfEdits(t *testing.T) {
	collectLess(t)
	hosts := uint64(*seeds) / 5 // their bursts take longer than the hosts of TestSimulation
	if testing.Short() {
		hosts = min(hosts, 5)
	}
	for s := *first; s < *first+hosts; s++ {
		w := newEdits(t, s)
		for range 40 {
			w.edit()
			if t.Failed() {
				t.Fatalf("replay with: go test ./daemon/engine -run SimulationOfEdits -first %d -seeds 5\n%s", s, w.story.String())
			}
		}
	}
}

// edits is a host with one crontab that changes repeatedly.
type edits struct {
	*simHost
	rng     *rand.Rand
	story   strings.Builder
	others  *crontab.File // its jobs come first at each minute
	entries map[job.ID]*crontab.Entry
	since   map[job.ID]time.Time // no occurrence is expected yet after this
	decided map[decided]job.Decision
	named   []decided // occurrences of all texts until now, without a decision yet
}

type decided struct {
	job job.ID
	due time.Time
}

func newEdits(t *testing.T, seed uint64) *edits {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := &edits{
		simHost: newSimHost(t, time.Date(2026, 11, 20, 2, 50, 10, 0, time.UTC), time.UTC), rng: rng,
		entries: map[job.ID]*crontab.Entry{}, since: map[job.ID]time.Time{}, decided: map[decided]job.Decision{},
	}
	var b strings.Builder
	for i := range rng.IntN(3) * stepSize {
		fmt.Fprintf(&b, "#@ name=other-%d\n* * * * * x\n", i)
	}
	w.others = w.crontab("others", b.String())
	w.log = w.hear
	w.write(w.now.Wall)
	w.start()
	return w
}

// write saves different entries in the crontab.
func (w *edits) write(saved time.Time) {
	specs := []string{"* * * * *", "*/2 * * * *", "0 3 * * *", "1-59/2 * * * *", "0-5,10-20 3 * * *"}
	var b strings.Builder
	for _, name := range []string{"one", "two", "three"} {
		if w.rng.IntN(4) > 0 {
			fmt.Fprintf(&b, "#@ name=%s\n%s x\n", name, specs[w.rng.IntN(len(specs))])
		}
	}
	edited := w.crontab("edited", b.String())
	fmt.Fprintf(&w.story, "> saved at %s: %q\n", saved.Format("15:04:05.000"), b.String())
	entries, since := map[job.ID]*crontab.Entry{}, map[job.ID]time.Time{}
	set := catalog.New([]*crontab.File{edited}, nil, nil)
	for slot := range set.Len() {
		id := set.ID(slot)
		entries[id], since[id] = set.Entry(slot), saved
		if old := w.entries[id]; old != nil && timing(old) == timing(entries[id]) {
			since[id] = w.since[id]
		}
	}
	w.crontabs = []*crontab.File{w.others, edited}
	w.entries, w.since = entries, since
}

// edit saves the crontab and makes the daemon read it around the beginning of a minute,
// at which the loop steps in time or not.
func (w *edits) edit() {
	minute := w.now.Wall.Truncate(time.Minute).Add(time.Duration(1+w.rng.IntN(3)) * time.Minute)
	const most = 400 * time.Millisecond
	saved := minute.Add(time.Duration(w.rng.Int64N(int64(2*most))) - most)
	read := saved.Add(time.Duration(w.rng.Int64N(int64(most))))
	for _, id := range runningRuns(w.simHost) {
		w.end(id, job.Outcome{Kind: job.Exited})
	}
	w.advance(minute.Add(-most))
	if w.rng.IntN(3) > 0 && !minute.After(read) {
		w.pass(minute.Sub(w.now.Wall))
		w.step(event.Tick{})
	}
	before := w.entries
	w.name(saved)
	w.write(saved)
	w.forgive(before, saved)
	if read.After(w.now.Wall) {
		w.pass(read.Sub(w.now.Wall))
	}
	fmt.Fprintf(&w.story, "> read at %s\n", w.now.Wall.Format("15:04:05.000"))
	ev := w.load()
	ev.Saved, ev.Prepared = map[string]time.Time{"edited": saved}, nil
	if w.rng.IntN(2) == 0 {
		ev = w.engine.View().Prepare(ev)
	}
	w.step(ev)
	w.advance(w.now.Wall)
	w.name(w.now.Wall)
	for _, o := range w.named {
		if w.decided[o] == "" {
			w.t.Errorf("invariant 1: %s at %s is not decided at %s", o.job, o.due, w.now.Wall)
		}
	}
	w.named = nil
}

// name stores the occurrences of the last saved text up to an instant.
func (w *edits) name(until time.Time) {
	for id, entry := range w.entries {
		for due := agenda.Next(entry.Schedule, w.since[id]); !due.After(until); due = agenda.Next(entry.Schedule, due) {
			w.named = append(w.named, decided{id, due})
			w.since[id] = due
		}
	}
}

// forgive makes new jobs begin after the occurrences of removed jobs that the daemon has
// run since the crontab was saved.
func (w *edits) forgive(before map[job.ID]*crontab.Entry, saved time.Time) {
	last := saved
	for o := range w.decided {
		if before[o.job] != nil && w.entries[o.job] == nil && o.due.After(last) {
			last = o.due
		}
	}
	for id := range w.entries {
		if before[id] == nil {
			w.since[id] = last
		}
	}
}

// hear stores decisions.
func (w *edits) hear(e effect.Effect) {
	f, ok := e.(effect.Fact)
	if !ok || f.Record.Kind != job.Decided {
		return
	}
	r := f.Record
	if strings.HasPrefix(string(r.Job), "other-") {
		return
	}
	fmt.Fprintln(&w.story, w.notify(e))
	o := decided{r.Job, r.Due}
	if before, twice := w.decided[o]; twice {
		w.t.Errorf("invariant 1: %s at %s was decided twice: %s, then %s", r.Job, r.Due, before, r.Decision)
	}
	w.decided[o] = r.Decision
}
