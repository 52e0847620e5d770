package api

import (
	"context"
	"net/url"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// Explanation is a schedule, an entry or a job in plain words. The fields below
// Diagnostics are those of an entry, the last ones those of a job.
type Explanation struct {
	V           int             `json:"v"`
	Schedule    string          `json:"schedule"`
	Meaning     string          `json:"meaning"`
	Zone        string          `json:"zone"`
	Year        int             `json:"year,omitempty"` // none without scheduled times
	Runs        int             `json:"runs"`           // in that year
	Next        []time.Time     `json:"next"`
	Changes     []ZoneChange    `json:"zone_changes"`
	Diagnostics []Diagnostic    `json:"diagnostics"`
	User        string          `json:"user,omitempty"`
	Command     string          `json:"command,omitempty"`
	Stdin       string          `json:"stdin,omitempty"`
	Options     []OptionMeaning `json:"options,omitempty"`
	Held        string          `json:"held,omitempty"`
	Degraded    string          `json:"degraded,omitempty"`
	Job         job.ID          `json:"job,omitempty"`
	Crontab     string          `json:"crontab,omitempty"`
	Line        int             `json:"line,omitempty"`
	Hold        *job.Hold       `json:"pause,omitempty"`
	Blackout    string          `json:"blackout,omitempty"` // of the host, now
	Shared      int             `json:"shared,omitempty"`   // minutes of the next seven days when other jobs also start
	Clashes     []Clash         `json:"clashes,omitempty"`  // the fullest of them; the job's own start is counted, not named
}

// ZoneChange is one change of a zone's offset and what it does to a schedule.
type ZoneChange struct {
	At     time.Time `json:"at"`
	Before string    `json:"before"` // the wall clock just before, 15:04
	After  string    `json:"after"`  // and at the change
	Effect string    `json:"effect"`
}

// OptionMeaning is one option of an entry in plain words.
type OptionMeaning struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Meaning   string `json:"meaning"`
	PlainCron string `json:"plain_cron"` // what the entry does under a cron that takes options for comments
}

// ExplainedRuns is the maximum number of coming runs in an explanation.
const ExplainedRuns = 3

// NewExplanation explains a schedule as seen from the instant from. Its location determines the
// calendar year.
func NewExplanation(spec string, s cron.Schedule, zone *timetable.Zone, diagnostics []crontab.Diagnostic, from time.Time) Explanation {
	x := Explanation{
		V: Version, Schedule: spec, Meaning: timetable.Describe(s), Zone: zone.String(),
		Next: []time.Time{}, Changes: []ZoneChange{}, Diagnostics: NewDiagnostics(diagnostics),
	}
	for t := s.Next(from.Add(-1)); len(x.Next) < ExplainedRuns && !t.IsZero(); t = s.Next(t) {
		x.Next = append(x.Next, t)
	}
	if timetable.IsTimeless(s) {
		return x
	}
	x.Year, x.Runs = from.Year(), timetable.PerYear(s, from.Year())
	for _, c := range zone.Coming(from, 2) {
		x.Changes = append(x.Changes, ZoneChange{
			At: c.At, Before: timetable.Wall(c.At, c.Before).Format("15:04"), After: timetable.Wall(c.At, c.After).Format("15:04"),
			Effect: c.Effect(spec, s),
		})
	}
	return x
}

// AddEntry adds what an entry has beside its schedule, its options in the order
// of the vocabulary.
func (x *Explanation) AddEntry(e *crontab.Entry, options []option.Option) {
	x.Command = e.Command()
	x.Stdin, _ = e.Stdin()
	o := e.Options()
	x.Meaning = e.Meaning()
	x.Held, x.Degraded = o.Held, o.Degraded
	for _, spec := range option.Vocabulary() {
		for _, it := range options {
			if it.Key == spec.Key {
				x.Options = append(x.Options, OptionMeaning{it.Key, it.Value, spec.Meaning, spec.Loss})
			}
		}
	}
}

// Explain describes what the job that ref names does, as seen from an instant on; zero: now.
func (c *Client) Explain(ctx context.Context, ref string, from time.Time) (Explanation, error) {
	v := url.Values{"job": {ref}}
	setTime(v, "from", from)
	return get[Explanation](ctx, c, "explain a job", "/v1/explain", v)
}
