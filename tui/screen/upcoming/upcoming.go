// Package upcoming owns the screen that lists the runs of the next hour, and which of them start
// together.
package upcoming

import (
	"context"
	"slices"
	"strconv"
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

// Upcoming lists the runs that are planned for the next hour.
type Upcoming struct {
	table.Table[key, row]
	rows    table.Rows[key, row]
	version uint64 // of the board when it was asked last
	asked   time.Time
	known   bool
	err     error
}

// key is a job and its time.
type key struct {
	at  int64
	job job.ID
}

// row is a planned run.
type row struct {
	api.ComingRun
	together int // runs that start in the same minute
}

// Bounds of the list.
const (
	span     = time.Hour
	mostRuns = 2000
	pause    = 10 * time.Second // between two questions
)

const slotComing = "coming"

// New makes the screen.
func New() *Upcoming {
	s := &Upcoming{rows: table.Rows[key, row]{
		Key:   func(r *row) key { return key{r.At.UnixNano(), r.Job} },
		Words: func(r *row) string { return string(r.Job) },
	}}
	s.Table = table.Table[key, row]{
		Source: &s.rows, Left: 2, MarkAt: 1, Titles: table.TitleStyle, In: keys.Upcoming, ToFirst: true,
		Keys: []keys.Action{keys.Open, keys.Run, keys.Explain, keys.Edit, keys.Pause, keys.Filter, keys.Mark, keys.Back, keys.Help},
		Columns: []table.Column[row]{
			{Title: "AT", Width: 11, Text: func(w *screen.World, r *row) (string, canvas.Style) {
				return r.At.In(w.In(w.JobZone(r.Job))).Format(w.Clock.Layout(time.TimeOnly)), canvas.Style{}
			}},
			{Title: "IN", Width: 8, From: screen.FullWidth, Text: func(w *screen.World, r *row) (string, canvas.Style) {
				return string(display.AppendAway(nil, r.At, w.Now)), canvas.Style{}
			}},
			{Title: "CLASH", Width: 13, Text: func(w *screen.World, r *row) (string, canvas.Style) {
				if r.together < 2 {
					return "", canvas.Style{}
				}
				return w.Glyphs.Late + " " + strconv.Itoa(r.together) + " starts", canvas.Style{Role: canvas.Doubt}
			}},
			{Title: "JOB", Width: 16, Grow: 20, Fill: true, Text: table.Plain(func(r *row) string { return string(r.Job) })},
			{Title: "USER", Width: 10, From: screen.FullWidth, Text: s.of(func(r *api.Row) string { return r.User })},
			{Title: "LAST TOOK", Width: 11, From: screen.FullWidth, Text: s.of(func(r *api.Row) string {
				if r.LastRun == 0 {
					return "-"
				}
				return display.Brief(r.Took)
			})},
			{Title: "SCHEDULE", Width: 20, From: 100, Text: s.of(func(r *api.Row) string { return r.Schedule })},
			{Title: hostTitle, Width: 12, Text: table.Plain(func(r *row) string { return r.Node })},
			{Title: "COMMAND", Width: 12, From: 120, Fill: true, Text: s.of(func(r *api.Row) string { return r.Command })},
		},
	}
	s.Refused = table.Refuse("always sorted by time", keys.Sort, keys.Reverse, keys.States, keys.Views, keys.Wide)
	s.Refused[keys.ShowUpcoming] = "this is it"
	return s
}

// of returns the text of a column that the board has.
func (*Upcoming) of(text func(r *api.Row) string) func(w *screen.World, r *row) (string, canvas.Style) {
	return func(w *screen.World, r *row) (string, canvas.Style) {
		about, ok := w.Board.Job(r.Job)
		if !ok {
			return "", canvas.Style{}
		}
		return text(&about), canvas.Style{}
	}
}

// Heading counts.
func (s *Upcoming) Heading(*screen.World) string {
	if !s.known {
		return "Next hour"
	}
	jobs, clashes, last := map[job.ID]bool{}, 0, time.Time{}
	for _, r := range s.rows.All() {
		jobs[r.Job] = true
		if minute := r.At.Truncate(time.Minute); r.together > 1 && !minute.Equal(last) {
			clashes, last = clashes+1, minute
		}
	}
	text := "Next hour: " + display.Count(len(s.rows.All()), "run") + " of " + display.Count(len(jobs), "job") + ", " + display.Count(clashes, "minute") + " with clashes"
	if len(s.rows.All()) == mostRuns {
		text = "Next hour: the first " + display.Count(mostRuns, "run")
	}
	return text
}

// Headed keeps the heading on narrow screens.
func (*Upcoming) Headed() {}

// Open requests the runs.
func (s *Upcoming) Open(w *screen.World) []screen.Effect {
	s.version, s.asked = w.Board.Version(), w.Now
	until := w.Now.Add(span)
	return []screen.Effect{screen.Ask{Slot: slotComing, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		return d.Coming(ctx, api.ComingQuery{Until: until, Limit: mostRuns})
	}}}
}

// Take receives them.
func (s *Upcoming) Take(w *screen.World, a screen.Answer) []screen.Effect {
	if s.err = a.Err; a.Err != nil {
		return nil
	}
	runs := a.Value.(api.Coming).Runs
	s.known = true
	inMinute := map[int64]int{}
	for i := range runs {
		inMinute[runs[i].At.Unix()/60]++
	}
	old := s.rows.All()
	kept := s.marked(old[:passed(old, w.Now)])
	rows := slices.Clone(kept)
	for i := range runs {
		r := row{runs[i], inMinute[runs[i].At.Unix()/60]}
		if !slices.ContainsFunc(kept, func(k row) bool { return s.rows.Key(&k) == s.rows.Key(&r) }) {
			rows = append(rows, r)
		}
	}
	s.SetRows(rows)
	return nil
}

// passed returns the number of runs whose time has passed. They are the first.
func passed(rows []row, now time.Time) int {
	if n := slices.IndexFunc(rows, func(r row) bool { return r.At.After(now) }); n >= 0 {
		return n
	}
	return len(rows)
}

// marked returns the marked ones of some rows. They stay in the list after their time, because an action
// on them must not become one on the row under the cursor.
func (s *Upcoming) marked(rows []row) (kept []row) {
	chosen, marked := s.Chosen()
	for i := range rows {
		if marked && slices.Contains(chosen, s.rows.Key(&rows[i])) {
			kept = append(kept, rows[i])
		}
	}
	return kept
}

// Refresh removes runs whose time has passed, but for marked ones, and requests the others again after the
// board has changed.
func (s *Upcoming) Refresh(w *screen.World) []screen.Effect {
	rows := s.rows.All()
	if n := passed(rows, w.Now); n > 0 && n < len(rows) {
		if kept := s.marked(rows[:n]); len(kept) < n {
			s.SetRows(append(kept, rows[n:]...))
		}
	}
	if w.Link.Live && w.Board.Version() != s.version && w.Now.Sub(s.asked) >= pause || w.Link.Live && api.KindOf(s.err) == api.Unreachable {
		return s.Open(w)
	}
	return nil
}

// Act moves, filters and marks, and shows a job.
func (s *Upcoming) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a == keys.Open {
		return []screen.Effect{screen.Show{Action: keys.Open, Subject: s.Subject(w)}}, true
	}
	return nil, s.Move(a)
}

// Subject returns the marked jobs, or the job and time under the cursor.
func (s *Upcoming) Subject(*screen.World) screen.Subject {
	about := s.ChosenJobs(func(r *row) job.ID { return r.Job })
	if r := s.Current(); r != nil && !about.Marked {
		about.At = r.At
	}
	return about
}

// Draw draws the list.
func (s *Upcoming) Draw(v canvas.View, w *screen.World) {
	if !s.known {
		page.DrawUnknown(v, s.err, w)
		return
	}
	if s.Typing() || s.Filter() != "" {
		s.DrawFilter(v, 1, 0, v.Width()-2, w)
		v = v.Below(1)
	}
	if s.rows.Len() == 0 {
		page.DrawNotice(v, []string{"No run is planned for the next hour."})
		return
	}
	from := table.Hidden
	if w.Board.Filled("host") > 0 {
		from = 140
	}
	s.Columns[slices.IndexFunc(s.Columns, func(c table.Column[row]) bool { return c.Title == hostTitle })].From = from
	s.Table.Draw(v, w)
}

// hostTitle is the title of the column that only a ring has.
const hostTitle = "HOST"
