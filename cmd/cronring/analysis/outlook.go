package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
)

// outlook sums a rehearsal up.
type outlook struct {
	from, to time.Time
	loc      *time.Location
	starts   int
	minutes  map[int64]int       // starts by minute
	skips    map[job.Reason]int  // occurrences that would not run, and why
	live     map[job.ID]int      // runs that are going
	overlaps map[job.ID]*overlap // jobs that were due while a run was going
}

// overlap counts what became of occurrences that came while a run was going.
type overlap struct {
	together, skipped, queued int
}

func newOutlook(from, to time.Time, loc *time.Location) *outlook {
	return &outlook{
		from: from.In(loc), to: to.In(loc), loc: loc, minutes: map[int64]int{},
		skips: map[job.Reason]int{}, live: map[job.ID]int{}, overlaps: map[job.ID]*overlap{},
	}
}

func (o *outlook) see(e effect.Effect) {
	switch e := e.(type) {
	case effect.Start:
		o.starts++
		o.minutes[e.Run.Due.Unix()/60]++
		if o.live[e.Run.Job]++; o.live[e.Run.Job] > 1 {
			o.overlap(e.Run.Job).together++
		}
	case effect.Fact:
		o.fact(e.Record)
	}
}

func (o *outlook) fact(r job.Record) {
	switch {
	case r.Kind == job.Ended:
		o.live[r.Job]--
	case r.Kind == job.Decided && r.Decision == job.DecideHold && r.Reason == job.WaitsForRun:
		o.overlap(r.Job).queued++
	case r.Kind == job.Decided && r.Decision == job.DecideSkip:
		o.skips[r.Reason] += max(r.Count, 1)
		if r.Reason == job.Overlapping || r.Reason == job.QueueFull {
			o.overlap(r.Job).skipped += max(r.Count, 1)
		}
	}
}

func (o *outlook) overlap(id job.ID) *overlap {
	if o.overlaps[id] == nil {
		o.overlaps[id] = &overlap{}
	}
	return o.overlaps[id]
}

func printOutlook(a *cli.App, o *outlook, view *view.View, takes time.Duration) {
	a.Printf("%s, %s: %s\n", o.period(), display.Count(view.Len(), "job"), display.Count(o.starts, "start"))
	for _, c := range timetable.NewZone(o.loc).Changes(o.from, o.to) {
		a.Printf("%s\n", changeNote(c, view))
	}
	for _, reason := range slices.Sorted(maps.Keys(o.skips)) {
		a.Printf("skipped: %s, %s\n", display.Count(o.skips[reason], "occurrence"), reason)
	}
	if takes == 0 {
		a.Printf("overlap: not seen, as runs take no time here; say how long with --durations D\n")
	} else {
		a.Printf("overlap: %s\n", o.overlapText())
	}
	if peak := o.peakText(); peak != "" {
		a.Printf("peak: %s\n", peak)
	}
}

// period formats the simulated time. A day can have 23 or 25 hours.
func (o *outlook) period() string {
	length := o.to.Sub(o.from)
	hours := display.Brief(length)
	if length%time.Hour == 0 {
		hours = display.Count(int(length/time.Hour), "real hour")
	}
	if isMidnight(o.from) && o.to.Equal(o.from.AddDate(0, 0, 1)) {
		return "civil day of " + hours
	}
	return o.from.Format("2006-01-02 15:04") + " to " + o.to.Format("2006-01-02 15:04") + ", " + hours
}

func isMidnight(t time.Time) bool { return t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 }

// changeNote describes the effect of a change of the host's zone on jobs.
func changeNote(c timetable.Change, view *view.View) string {
	before, after := timetable.Wall(c.At, c.Before), timetable.Wall(c.At, c.After)
	low, high := before, after
	if after.Before(before) {
		low, high = after, before
	}
	fixed, interval, second := 0, 0, 0
	for i := range view.Len() {
		e := view.Entry(i)
		if timetable.IsTimeless(e.Schedule) || e.Zone().String() != c.At.Location().String() || !c.Touches(e.Spec(), e.Schedule) {
			continue
		}
		switch timetable.PassesOf(e.Schedule) {
		case timetable.PassFirst:
			fixed++
		case timetable.PassEach:
			interval++
		case timetable.PassLast:
			second++
		}
	}
	span := low.Format("15:04") + "-" + high.Format("15:04")
	if after.After(before) {
		return fmt.Sprintf("%s does not exist: %s at %s instead, %s nothing for it", span,
			verbed(fixed+second, "fixed-time job", "run"), after.Format("15:04"), verbed(interval, "interval job", "start"))
	}
	note := fmt.Sprintf("%s comes twice: %s the first time only, %s both times", span,
		verbed(fixed, "fixed-time job", "run"), verbed(interval, "interval job", "run"))
	if second > 0 {
		note += ", " + verbed(second, "job", "run") + " the second time only"
	}
	return note
}

// verbed adjusts noun and verb to a number: "1 job runs", "2 jobs run".
func verbed(n int, noun, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return display.Count(n, noun) + " " + verb
}

func (o *outlook) overlapText() string {
	if len(o.overlaps) == 0 {
		return "none"
	}
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(o.overlaps)) {
		texts = append(texts, display.Text(string(id))+" "+o.overlaps[id].text())
	}
	const most = 10
	if len(texts) > most {
		texts = append(texts[:most], fmt.Sprintf("and %d more jobs", len(texts)-most))
	}
	return strings.Join(texts, ", ")
}

func (v *overlap) text() string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{v.together, "together"}, {v.skipped, "skip"}, {v.queued, "queue"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("x%d (%s)", part.n, part.word))
		}
	}
	return strings.Join(parts, " ")
}

// peakText names the three busiest minutes, if any has more than one start.
func (o *outlook) peakText() string {
	minutes := slices.Collect(maps.Keys(o.minutes))
	slices.SortFunc(minutes, func(a, b int64) int {
		return cmp.Or(cmp.Compare(o.minutes[b], o.minutes[a]), cmp.Compare(a, b))
	})
	form := "15:04"
	if o.to.Sub(o.from) > 25*time.Hour {
		form = "Mon 2006-01-02 15:04"
	}
	var texts []string
	for _, m := range minutes[:min(3, len(minutes))] {
		if o.minutes[m] < 2 {
			break
		}
		text := fmt.Sprintf("%d at %s", o.minutes[m], time.Unix(m*60, 0).In(o.loc).Format(form))
		if len(texts) == 0 {
			text = strings.Replace(text, " at", " starts at", 1)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
