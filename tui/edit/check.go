package edit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/review"
)

// Checker looks at versions of a crontab's text while it is edited. It is
// immutable: versions may be looked at side by side.
type Checker struct {
	name   string
	config crontab.Config
	old    review.Text
	before review.Version
	lines  map[job.ID]int // of the jobs that were there before
}

// NewChecker is for the edits of a crontab. zone finds the zones that it names.
func NewChecker(t *api.CrontabText, zone func(string) (*time.Location, error)) *Checker {
	c := &Checker{name: t.File, config: t.Config(zone)}
	c.old.Text = string(t.Text)
	file, diagnostics := crontab.Parse(c.name, c.old.Text, c.config)
	c.old.Diagnostics, c.before, c.lines = diagnostics, review.NewVersion(file), map[job.ID]int{}
	for _, j := range c.before.Jobs() {
		c.lines[j.ID] = j.Line
	}
	return c
}

// Format is that of the file.
func (c *Checker) Format() crontab.Format { return c.config.Format }

// Config is how the file is parsed.
func (c *Checker) Config() crontab.Config { return c.config }

// Checked is the result of checking one version of the text.
type Checked struct {
	Errors   int
	Warnings int
	Blocking []crontab.Diagnostic // errors that were not there before: it cannot be saved with them
	Changes  []review.Difference  // what a save would do; runs are not counted

	file        *crontab.File
	diagnostics map[int][]crontab.Diagnostic // by line, from 1; notices are left out
	lines       []int                        // that have some, in order
	saved       map[int]int                  // line of each entry before the edit; new entries have none
}

// Check reads a text as the daemon would.
func (c *Checker) Check(text string) *Checked {
	file, diagnostics := crontab.Parse(c.name, text, c.config)
	now := review.NewVersion(file)
	checked := &Checked{
		Blocking: review.NewErrors(c.old, review.Text{Text: text, Diagnostics: diagnostics}),
		Changes:  review.Compare(c.before, now),
		file:     file, diagnostics: map[int][]crontab.Diagnostic{}, saved: map[int]int{},
	}
	for _, j := range now.Jobs() {
		if line, ok := c.lines[j.ID]; ok {
			checked.saved[j.Line] = line
		}
	}
	for _, d := range diagnostics {
		switch d.Severity {
		case crontab.Error:
			checked.Errors++
		case crontab.Warning:
			checked.Warnings++
		default:
			continue
		}
		if len(checked.diagnostics[d.Line]) == 0 {
			checked.lines = append(checked.lines, d.Line)
		}
		checked.diagnostics[d.Line] = append(checked.diagnostics[d.Line], d)
	}
	return checked
}

// Diagnostics are the errors and warnings on a line, from 1.
func (c *Checked) Diagnostics(line int) []crontab.Diagnostic { return c.diagnostics[line] }

// Worst is the worst diagnostic on a line, Notice where there is none.
func (c *Checked) Worst(line int) crontab.Severity {
	worst := crontab.Note
	for _, d := range c.diagnostics[line] {
		worst = max(worst, d.Severity)
	}
	return worst
}

// NextProblem is the line with a diagnostic that follows a line, or the first one.
func (c *Checked) NextProblem(line int) (next int, ok bool) {
	for _, at := range c.lines {
		if at > line {
			return at, true
		}
	}
	if len(c.lines) == 0 {
		return 0, false
	}
	return c.lines[0], true
}

// Entry is the entry of a line, from 1; nil where there is none.
func (c *Checked) Entry(line int) *crontab.Entry {
	entries := c.file.Entries
	i, ok := slices.BinarySearchFunc(entries, line, func(e crontab.Entry, line int) int { return e.Line() - line })
	if !ok {
		return nil
	}
	return &entries[i]
}

// About is the entry that a line is about: its own, or that of the line below
// the options in it.
func (c *Checked) About(line int, text func(line int) (string, bool)) *crontab.Entry {
	for {
		if e := c.Entry(line); e != nil {
			return e
		}
		words, ok := text(line)
		if !ok || !strings.HasPrefix(strings.TrimLeft(words, " \t"), "#@") {
			return nil
		}
		line++
	}
}

// Saved returns the entry's line in the saved file, and in what the saved entry
// differs: user, command, environment or options. ok is false if the file does not
// have the entry.
func (c *Checked) Saved(e *crontab.Entry) (line int, differs []string, ok bool) {
	line, ok = c.saved[e.Line()]
	for _, d := range c.Changes {
		if d.Kind != review.Changed || d.New.Line != e.Line() {
			continue
		}
		differs = slices.DeleteFunc(slices.Clone(d.Changed), func(part string) bool { return part == review.Schedule })
	}
	return line, differs, ok
}

// Count returns how many jobs a save would add, change and remove.
func (c *Checked) Count() (added, changed, removed int) {
	for _, d := range c.Changes {
		switch d.Kind {
		case review.Added:
			added++
		case review.Removed:
			removed++
		default:
			changed++
		}
	}
	return added, changed, removed
}

// mostSkipped limits the search for an occurrence outside of the blackouts.
const mostSkipped = 10_000

// Next returns the first starts of an entry after a time, at most n, and the blackout of
// the host in which the first occurrence is, or "". An occurrence in a blackout is skipped,
// or moved to its end by outside=wait.
func Next(e *crontab.Entry, blackouts timetable.Blackouts, after time.Time, n int) (list []time.Time, in string) {
	hours := e.Options().Hours
	for range mostSkipped {
		t := e.Schedule.Next(after)
		if t.IsZero() || len(list) == n {
			break
		}
		after = t
		opens, against := blackouts.Opens(hours, t)
		switch {
		case against == "":
		case len(list) == 0 && in == "":
			in = against
		}
		if against != "" && !e.Options().WaitOutside || opens.IsZero() {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Before(opens) {
			list = append(list, opens)
		}
	}
	return list, in
}

// Outlook holds what takes a while to compute for an entry.
type Outlook struct {
	Year   int // calendar year of Runs; 0: the entry has no scheduled times
	Runs   int // number of runs in Year
	Clocks string
	Others int // entries of the file that start in the minute of its next one
}

// LookAhead counts the runs of a year, describes the next two clock changes, and
// counts the entries that start together.
func (c *Checked) LookAhead(e *crontab.Entry, now time.Time) Outlook {
	zone := e.Zone()
	o := Outlook{Clocks: "no change of the clock within two years", Others: c.others(e, now)}
	if timetable.IsTimeless(e.Schedule) {
		return o
	}
	o.Year = now.In(zone.Location()).Year()
	o.Runs = timetable.PerYear(e.Schedule, o.Year)
	var effects []string
	for i, c := range zone.Changes(now, now.AddDate(2, 0, 0)) {
		if i == 2 {
			break
		}
		effect := c.Effect(e.Spec(), e.Schedule)
		if strings.HasPrefix(effect, "no effect") {
			o.Clocks = effect
			continue
		}
		effects = append(effects, fmt.Sprintf("%s: %s", c.At.In(zone.Location()).Format("2 Jan 2006"), effect))
	}
	if len(effects) > 0 {
		o.Clocks = strings.Join(effects, "; ")
	}
	return o
}

// others counts the other entries that start in the minute of the next occurrence
// of one.
func (c *Checked) others(e *crontab.Entry, now time.Time) int {
	next := e.Schedule.Next(now)
	if next.IsZero() {
		return 0
	}
	minute := next.Truncate(time.Minute)
	n := 0
	for i := range c.file.Entries {
		other := &c.file.Entries[i]
		if t := other.Schedule.Next(minute.Add(-1)); other.Line() != e.Line() && !t.IsZero() && t.Before(minute.Add(time.Minute)) {
			n++
		}
	}
	return n
}
