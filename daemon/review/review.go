// Package review owns the preview of a change of crontabs, which shows the jobs that it adds, changes
// and removes, how often they would run then, and which errors it introduces. It is pure, so that all
// programs that preview an edit agree.
package review

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// The kinds of differences.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// The parts that two entries of one job can differ in.
const (
	Schedule    = "schedule"
	User        = "user"
	Command     = "command"
	Environment = "environment"
	Options     = "options"
)

// Difference is one job that differs between two versions of a crontab.
type Difference struct {
	Job     job.ID     `json:"job"`
	Kind    string     `json:"kind"`
	Old     *Side      `json:"old,omitempty"`
	New     *Side      `json:"new,omitempty"`
	First   *time.Time `json:"first,omitempty"` // the first scheduled time of only one version, if Count found one
	Changed []string   `json:"changed,omitempty"`
	Clash   *Clash     `json:"clash,omitempty"` // set by FindClashes
}

// Side is a job in one of the two versions.
type Side struct {
	job.Job
	Meaning  string `json:"meaning"`
	Runs     int    `json:"runs"` // set by Count
	schedule cron.Schedule
}

// IsTimeless reports whether the job has no scheduled times, as with on=.
func (s *Side) IsTimeless() bool { return timetable.IsTimeless(s.schedule) }

// Version contains the jobs of one version of some crontabs, in their order.
type Version struct{ view *view.View }

// NewVersion returns the jobs of crontabs, with the names that the daemon would use.
func NewVersion(crontabs ...*crontab.File) Version {
	world := engine.New(engine.State{})
	world.Step(job.Moment{}, event.Load{Crontabs: crontabs})
	return Version{world.View()}
}

// Jobs returns the jobs, in the order of their entries.
func (v Version) Jobs() []job.Job {
	list := make([]job.Job, v.view.Len())
	for i := range list {
		list[i] = v.view.Job(i)
	}
	return list
}

func (v Version) side(i int) *Side {
	e := v.view.Entry(i)
	return &Side{Job: v.view.Job(i), Meaning: e.Meaning(), schedule: e.Schedule}
}

// Week returns the default end of a comparison.
func Week(from time.Time) time.Time { return from.AddDate(0, 0, 7) }

func (s *Side) count(from, end time.Time) {
	s.Runs = 0
	for t := s.schedule.Next(from.Add(-1)); !t.IsZero() && t.Before(end); t = s.schedule.Next(t) {
		s.Runs++
	}
}

// Count counts the runs of both sides from one time (inclusive) to another (exclusive), and finds
// the first scheduled time that only one side has.
func Count(found []Difference, from, end time.Time) {
	for i := range found {
		d := &found[i]
		if d.Old != nil {
			d.Old.count(from, end)
		}
		if d.New != nil {
			d.New.count(from, end)
		}
		if d.Kind == Changed {
			d.First = firstChange(d.Old.schedule, d.New.schedule, from, end)
		}
	}
}

// Compare lists the differences: added and changed jobs in the order of the new version, then
// removed jobs. Runs are not counted yet.
func Compare(old, now Version) []Difference {
	found := []Difference{}
	for i := range now.view.Len() {
		id := now.view.ID(i)
		k, ok := old.view.Find(id)
		switch {
		case !ok:
			found = append(found, Difference{Job: id, Kind: Added, New: now.side(i)})
		case !same(old.view.Entry(k), now.view.Entry(i)):
			if changed := changes(old.view, k, now.view, i); len(changed) > 0 {
				found = append(found, Difference{Job: id, Kind: Changed, Old: old.side(k), New: now.side(i), Changed: changed})
			}
		}
	}
	for i := range old.view.Len() {
		if id := old.view.ID(i); !now.has(id) {
			found = append(found, Difference{Job: id, Kind: Removed, Old: old.side(i)})
		}
	}
	return found
}

func (v Version) has(id job.ID) bool {
	_, ok := v.view.Find(id)
	return ok
}

// same reports whether entries are obviously the same, as in most of a large file, so that they
// need no detailed comparison.
func same(a, b *crontab.Entry) bool {
	return a.Raw() == b.Raw() && a.User() == b.User() && a.Zone().String() == b.Zone().String() &&
		slices.EqualFunc(a.Options().Items, b.Options().Items, func(x, y option.Option) bool {
			return x.Key == y.Key && x.Value == y.Value && x.Origin == y.Origin
		}) && slices.Equal(a.Env(), b.Env())
}

// changes returns the parts in which two entries of one job differ.
func changes(old *view.View, k int, now *view.View, i int) []string {
	a, b := old.Job(k), now.Job(i)
	var changed []string
	for _, part := range []struct {
		name string
		same bool
	}{
		{Schedule, timetable.Identity(old.Entry(k).Schedule) == timetable.Identity(now.Entry(i).Schedule)},
		{User, a.User == b.User},
		{Command, a.Command == b.Command && a.Stdin == b.Stdin},
		{Environment, slices.Equal(a.Env, b.Env)},
		{Options, maps.Equal(a.Options, b.Options)},
	} {
		if !part.same {
			changed = append(changed, part.name)
		}
	}
	return changed
}

// firstChange returns the first time between from and end that only one of the two schedules has,
// or nil.
func firstChange(old, now cron.Schedule, from, end time.Time) *time.Time {
	within := func(t time.Time) bool { return !t.IsZero() && t.Before(end) }
	at := from.Add(-1)
	for {
		a, b := old.Next(at), now.Next(at)
		switch {
		case !within(a) && !within(b):
			return nil
		case a.Equal(b):
			at = a
			continue
		case within(a) && (b.IsZero() || a.Before(b)):
			return &a
		}
		return &b
	}
}

// IsNew reports whether First is a scheduled time of the new version, so that it is added, not
// removed.
func (d Difference) IsNew() bool {
	return d.First != nil && d.New.schedule.Next(d.First.Add(-1)).Equal(*d.First)
}

// Text is one version of a file's text, with its diagnostics.
type Text struct {
	Text        string
	Diagnostics []crontab.Diagnostic
}

// NewErrors returns the errors that did not exist before. Earlier errors do not prevent another
// change of the file.
func NewErrors(old, now Text) []crontab.Diagnostic {
	known := map[mistake]int{}
	for _, m := range old.mistakes() {
		known[m]++
	}
	var fresh []crontab.Diagnostic
	all := now.mistakes()
	for i, d := range now.errors() {
		if known[all[i]]--; known[all[i]] < 0 {
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// mistake is an error, regardless of its place in the file.
type mistake struct {
	code crontab.Code
	line string
}

func (t Text) errors() []crontab.Diagnostic {
	var errors []crontab.Diagnostic
	for _, d := range t.Diagnostics {
		if d.Severity == crontab.Error {
			errors = append(errors, d)
		}
	}
	return errors
}

func (t Text) mistakes() []mistake {
	errors := t.errors()
	if len(errors) == 0 {
		return nil
	}
	lines := strings.Split(t.Text, "\n")
	list := make([]mistake, len(errors))
	for i, d := range errors {
		list[i].code = d.Code
		if d.Line >= 1 && d.Line <= len(lines) {
			list[i].line = lines[d.Line-1]
		}
	}
	return list
}
