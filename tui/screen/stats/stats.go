// Package stats owns the screen with the statistics of runs, which are a calendar of days, key figures
// and their trend, and a list of the jobs.
package stats

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Stats shows the statistics of some jobs or of all, over 30 or 90 days.
type Stats struct {
	table.Table[string, api.StatsGroup]
	rows  table.Rows[string, api.StatsGroup] // jobs
	refs  []string                           // none: all jobs
	days  int
	sums  sums
	asked time.Time
	known bool
	err   error
}

// sums contains the answers of the daemon.
type sums struct {
	days, jobs   api.Stats
	before, last api.StatsGroup // the first and the second half of the time
}

// The numbers of days.
const (
	shortSpan = 30
	longSpan  = 90
)

const (
	slotStats  = "stats"
	statsPause = time.Minute // between two requests
)

// New makes the screen for the selected jobs, or for all if none is selected.
func New(about screen.Subject) *Stats {
	s := &Stats{refs: screen.Refs(about), days: shortSpan}
	s.rows = table.Rows[string, api.StatsGroup]{
		Key: func(g *api.StatsGroup) string { return g.Name }, Words: func(g *api.StatsGroup) string { return g.Name },
	}
	took := func(title string, from int, of func(g *api.StatsGroup) time.Duration) table.Column[api.StatsGroup] {
		return table.Column[api.StatsGroup]{
			Title: title, Width: 10, From: from, Right: true, Text: table.Plain(func(g *api.StatsGroup) string { return lengthText(g, of(g)) }),
			Compare: table.By(of), Falls: true,
		}
	}
	s.Table = table.Table[string, api.StatsGroup]{
		Source: &s.rows, Left: 1, Titles: table.TitleStyle, In: keys.Stats, ToFirst: true, Sorted: "TIME", Falls: true,
		Keys: []keys.Action{keys.Open, keys.Days90, keys.Days30, keys.OfAll, keys.Sort, keys.Filter, keys.Explain, keys.Back, keys.Help},
		Refused: table.Refuse("not on this screen",
			keys.Mark, keys.Range, keys.MarkAll, keys.States, keys.Views, keys.Wide, keys.PreviousRun, keys.NextRun),
		Columns: []table.Column[api.StatsGroup]{
			{Title: "JOB", Width: 14, Fill: true, Most: 48, Text: table.Plain(s.rows.Words), Compare: table.By(s.rows.Words)},
			{Title: "RUNS", Width: 8, From: screen.FullWidth, Right: true, Text: table.Plain(func(g *api.StatsGroup) string { return strconv.Itoa(g.Runs) }),
				Compare: table.By(func(g *api.StatsGroup) int { return g.Runs }), Falls: true},
			{Title: "OK", Width: 8, Right: true, Text: func(_ *screen.World, g *api.StatsGroup) (string, canvas.Style) {
				return rateText(g), canvas.Style{Role: quality(g).role()}
			}, Compare: func(a, b *api.StatsGroup) int { return cmp.Compare(a.OK*b.Runs, b.OK*a.Runs) }},
			took("P50", screen.FullWidth, func(g *api.StatsGroup) time.Duration { return g.P50 }),
			took("P95", screen.FullWidth, func(g *api.StatsGroup) time.Duration { return g.P95 }),
			took("SLOWEST", screen.FullWidth, func(g *api.StatsGroup) time.Duration { return g.Max }),
			took("WASTED", 100, func(g *api.StatsGroup) time.Duration { return g.Waste }),
			took("TIME", 0, func(g *api.StatsGroup) time.Duration { return g.Time }),
		},
	}
	return s
}

// lengthText returns a duration, or "-" if no run took time.
func lengthText(g *api.StatsGroup, d time.Duration) string {
	if g.Time == 0 {
		return "-"
	}
	return display.Brief(d)
}

// rateText returns the share of runs that succeeded, or "-" without runs.
func rateText(g *api.StatsGroup) string {
	if g.Runs == 0 {
		return "-"
	}
	return page.Percent(g.OK, g.Runs)
}

// Heading names the jobs and the time.
func (s *Stats) Heading(*screen.World) string {
	about := "all jobs"
	switch len(s.refs) {
	case 0:
	case 1:
		about = s.refs[0]
	default:
		about = display.Count(len(s.refs), "job")
	}
	return fmt.Sprintf("Statistics: %s, %d days", about, s.days)
}

// Headed keeps the heading on narrow screens.
func (*Stats) Headed() {}

// Open requests the statistics.
func (s *Stats) Open(w *screen.World) []screen.Effect {
	s.asked = w.Now
	now, refs, since := w.Now, s.refs, s.since(w)
	return []screen.Effect{screen.Ask{Slot: slotStats, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return ask(ctx, d, refs, since, now) }}}
}

// since is the start of the first day, in the zone of the host.
func (s *Stats) since(w *screen.World) time.Time {
	return screen.Midnight(w.Now, w.LoadZone("")).AddDate(0, 0, 1-s.days)
}

// ask reads the sums of days and jobs, and those of both halves of the time that the daemon counts.
func ask(ctx context.Context, d screen.Daemon, refs []string, since, now time.Time) (all sums, err error) {
	if all.days, err = d.Stats(ctx, api.StatsQuery{Refs: refs, Since: since, By: "day"}); err != nil {
		return all, err
	}
	since = all.days.Since
	half := since.Add(now.Sub(since) / 2)
	for _, q := range []struct {
		since, until time.Time
		to           *api.Stats
		all          *api.StatsGroup
	}{
		{since, time.Time{}, &all.jobs, new(api.StatsGroup)},
		{since, half, new(api.Stats), &all.before},
		{half, time.Time{}, new(api.Stats), &all.last},
	} {
		if *q.to, err = d.Stats(ctx, api.StatsQuery{Refs: refs, Since: q.since, Until: q.until}); err != nil {
			return all, err
		}
		*q.all = q.to.All
	}
	return all, nil
}

// Take receives the statistics.
func (s *Stats) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	if s.err = a.Err; a.Err == nil {
		s.sums, s.known = a.Value.(sums), true
		s.SetRows(s.sums.jobs.Groups)
	}
	return nil
}

// Refresh requests them again from time to time.
func (s *Stats) Refresh(w *screen.World) []screen.Effect {
	if w.Link.Live && w.Now.Sub(s.asked) >= statsPause || w.Link.Live && api.KindOf(s.err) == api.Unreachable {
		return s.Open(w)
	}
	return nil
}

// Act moves, sorts, and changes the number of days and the jobs.
func (s *Stats) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.Open:
		show := screen.Show{Action: keys.ShowStats, Subject: s.Subject(w)}
		if len(s.refs) == 1 {
			show.Action = keys.Open
		}
		return []screen.Effect{show}, true
	case keys.OfAll:
		return []screen.Effect{screen.Goto{Screen: New(screen.Subject{})}}, true
	case keys.Days30:
		s.days = shortSpan
		return s.Open(w), true
	case keys.Days90:
		s.days = longSpan
		return s.Open(w), true
	}
	return nil, s.Move(a)
}

// Subject returns the job under the cursor.
func (s *Stats) Subject(*screen.World) screen.Subject {
	g := s.Current()
	if g == nil {
		return screen.Subject{}
	}
	return screen.Subject{Jobs: []job.ID{job.ID(g.Name)}}
}

// Refuses returns why a key does nothing here.
func (s *Stats) Refuses(w *screen.World, a keys.Action) string {
	switch {
	case a == keys.OfAll && len(s.refs) == 0:
		return "these are all jobs"
	case a == keys.ShowStats && len(s.refs) == 1:
		return "this is it; tab shows all jobs"
	case a == keys.Days30 && s.days == shortSpan || a == keys.Days90 && s.days == longSpan:
		return "these are " + display.Count(s.days, "day") + " already"
	}
	return s.Table.Refuses(w, a)
}

// Draw draws the calendar with the key figures beside it, and the jobs.
func (s *Stats) Draw(v canvas.View, w *screen.World) {
	if !s.known {
		page.DrawUnknown(v, s.err, w)
		return
	}
	x := s.drawCalendar(v, w)
	s.drawFigures(v.In(x, 0, v.Width()-x, calendarRows), w)
	s.drawLegend(v.Row(calendarRows), w)
	v = v.Below(calendarRows + 1)
	page.DrawRule(v.Row(0), display.Count(s.rows.Len(), "job")+" by "+strings.ToLower(s.Sorted), w.Glyphs)
	if s.Typing() || s.Filter() != "" {
		s.DrawFilter(v, max(v.Width()-26, 0), 0, 24, w)
	}
	if v = v.Below(1); s.rows.Len() == 0 {
		text := "Nothing ran in this time."
		if w.Status.NoDaemon != "" {
			text = "Nothing is known: " + screen.CronKeeps + "."
		}
		v.PutCut(1, 0, v.Width()-2, text, w.Glyphs.Ellipsis, canvas.Style{})
		return
	}
	s.Table.Draw(v, w)
}
