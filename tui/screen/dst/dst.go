// Package dst owns the screens that preview what daylight saving time does to jobs.
package dst

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
)

// DST shows what the next two changes of the clocks do to the schedule of a job.
type DST struct {
	id   job.ID
	job  *api.Job // nil: it is not known yet
	err  error
	page page.Page
}

// New makes the screen for the selected job, or for all affected jobs if none is
// selected.
func New(s screen.Subject) screen.Screen {
	if len(s.Jobs) == 0 {
		return newAffected()
	}
	return &DST{id: s.Jobs[0]}
}

// Scope returns the scope of changes of the clocks.
func (*DST) Scope() keys.Scope { return keys.DST }

// Heading names the job, its times and its zone.
func (s *DST) Heading(w *screen.World) string {
	return "DST preview: " + s.about(w)
}

func (s *DST) about(w *screen.World) string {
	text := string(s.id)
	if s.job != nil {
		text += "  " + s.job.Job.StartsOn() + "  " + w.ZoneName(s.job.Job.Zone)
	}
	return text
}

const slotShow = "show"

// Open requests the job.
func (s *DST) Open(*screen.World) []screen.Effect {
	id := s.id
	return []screen.Effect{screen.Ask{Slot: slotShow, Call: func(ctx context.Context, d screen.Daemon) (any, error) { return d.Show(ctx, string(id)) }}}
}

// Take receives it.
func (s *DST) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	if s.err = a.Err; a.Err == nil {
		j := a.Value.(api.Job)
		s.job = &j
	}
	return nil
}

// Refresh repeats a request that failed while the daemon was away.
func (s *DST) Refresh(w *screen.World) []screen.Effect {
	if w.Link.Live && s.err != nil && api.KindOf(s.err) == api.Unreachable {
		return s.Open(w)
	}
	return nil
}

// Act scrolls, and lists the other jobs.
func (s *DST) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a == keys.AllJobs {
		return []screen.Effect{screen.Goto{Screen: newAffected()}}, true
	}
	return nil, s.page.Act(a)
}

// Subject returns the job.
func (s *DST) Subject(*screen.World) screen.Subject {
	subject := screen.Subject{Jobs: []job.ID{s.id}}
	if s.job != nil {
		subject.File, subject.Line = s.job.Job.Crontab, s.job.Job.Line
	}
	return subject
}

// Refuses returns why a key does nothing here.
func (s *DST) Refuses(_ *screen.World, a keys.Action) string {
	switch a {
	case keys.ShowDST:
		return "this is it; tab lists all jobs that are affected"
	case keys.PreviousRun, keys.NextRun:
		return "all changes are on this screen"
	}
	return ""
}

// Foot returns the keys of the preview.
func (*DST) Foot(*screen.World) []keys.Action {
	return []keys.Action{keys.Back, keys.AllJobs, keys.Edit, keys.Explain, keys.Palette, keys.Help, keys.Leave}
}

// Draw draws the changes, or why there is nothing to draw.
func (s *DST) Draw(v canvas.View, w *screen.World) {
	text := s.paragraphs(w, v.Width())
	if v.Width() < screen.FullWidth { // where the first line has no room for it
		text = append([]page.Paragraph{page.Line(" "+s.about(w), canvas.Style{Role: canvas.Title})}, text...)
	}
	s.page.Set(text)
	s.page.Draw(v, w)
}

func (s *DST) paragraphs(w *screen.World, width int) []page.Paragraph {
	if s.job == nil {
		return page.Unknown(w, s.err)
	}
	zone := timetable.NewZone(w.LoadZone(s.job.Job.Zone))
	spec, schedule := jobinfo.ReadSchedule(s.job, zone)
	changes := zone.Coming(w.Now, 2)
	switch {
	case len(changes) == 0:
		return []page.Paragraph{page.Line(" The clocks of "+w.ZoneName(s.job.Job.Zone)+" do not change in the next two years.", canvas.Style{})}
	case job.FieldsOf(s.job.Job.StartsOn()) != s.job.Job.Schedule:
		return []page.Paragraph{page.Line(" "+s.job.Job.StartsOn()+" does not depend on local time: clock changes do not affect the job.", canvas.Style{})}
	case schedule == nil:
		return []page.Paragraph{page.Line(" The effect of clock changes cannot be shown: the schedule does not depend on local time, or options change it. "+
			"cronring explain shows the meaning of the time fields alone.", canvas.Style{})}
	}
	var text []page.Paragraph
	for _, c := range changes {
		text = append(text, page.Heading(changeTitle(c)))
		text = append(text, changeTable(w, c, c.Around(spec, schedule), width)...)
		text = append(text, page.Paragraph{Spans: []page.Span{{Text: " so     ", Style: canvas.Style{Role: canvas.Off}}, {Text: c.Effect(spec, schedule), Style: canvas.Style{Bold: true}}}, Hang: 8})
	}
	text = append(text, page.Heading(""))
	text = append(text, page.Line(" match: what the time fields match; here: what cronringd does", canvas.Style{Role: canvas.Off}))
	if jobinfo.Delayed(s.job) {
		text = append(text, page.Line(" each start comes later than that by jitter= or spread=", canvas.Style{}))
	}
	if s.job.Job.Options["dst"] == "" {
		command := "cronring explain " + display.Quote(spec) + " --tz " + display.Quote(w.ZoneName(s.job.Job.Zone))
		text = append(text, page.Line(" same text in a shell: "+command, canvas.Style{Role: canvas.Off}))
	}
	return text
}

// changeTitle returns the day and the times of a change.
func changeTitle(c timetable.Change) string {
	verb := "fall"
	if c.Forward() {
		verb = "jump"
	}
	before, after := timetable.Wall(c.At, c.Before), timetable.Wall(c.At, c.After)
	return fmt.Sprintf("%s  clocks %s %s -> %s", before.Format("Mon 2 Jan 2006"), verb, before.Format("15:04"), after.Format("15:04"))
}

// tableFrom is the narrowest screen on which stretches are columns; on others they
// are rows.
const tableFrom = 78

// changeTable shows each stretch around a change: the clock, UTC, what the fields
// match, and what cronring runs.
func changeTable(w *screen.World, c timetable.Change, stretches []timetable.Stretch, width int) []page.Paragraph {
	lines := [][]page.Span{{{Text: "wall"}}, {{Text: "UTC"}}, {{Text: "match"}}, {{Text: "here"}}}
	for i := range stretches {
		for line, cell := range stretchCells(w, c, &stretches[i]) {
			lines[line] = append(lines[line], cell)
		}
	}
	room := max((width-9)/len(stretches), 14)
	if width < tableFrom {
		lines, room = transpose(append(lines[:1], lines[2:]...)), 13 // without UTC
	}
	var text []page.Paragraph
	for _, line := range lines {
		var q page.Paragraph
		for i, cell := range line {
			switch {
			case i == 0 && width >= tableFrom:
				q.Spans = append(q.Spans, page.Span{Text: display.Pad(" "+cell.Text, 8), Style: canvas.Style{Role: canvas.Off}})
			case i == 0:
				q.Spans = append(q.Spans, page.Span{Text: display.Pad(" "+cell.Text, room+2), Style: cell.Style})
			case i == len(line)-1:
				q.Spans = append(q.Spans, cell)
			default:
				q.Spans = append(q.Spans, page.Span{Text: display.Pad(cell.Text, room), Style: cell.Style})
			}
		}
		text = append(text, q)
	}
	return text
}

// transpose makes lines of columns.
func transpose(lines [][]page.Span) [][]page.Span {
	columns := make([][]page.Span, len(lines[0]))
	for i := range columns {
		for _, line := range lines {
			columns[i] = append(columns[i], line[i])
		}
	}
	return columns
}

// stretchCells is a stretch in four short texts.
func stretchCells(w *screen.World, c timetable.Change, st *timetable.Stretch) [4]page.Span {
	dim, good, bad := canvas.Style{Role: canvas.Off}, canvas.Style{Role: canvas.Good}, canvas.Style{Role: canvas.Bad, Bold: true}
	wall := page.Span{Text: st.Wall.Format("15:04")}
	match, here := page.Span{Text: ".", Style: dim}, page.Span{Text: ".", Style: dim}
	switch {
	case st.Pass == timetable.Missing:
		wall = page.Span{Text: "[" + st.Wall.Format("15:04") + "-" + st.End.Format("15:04") + "]", Style: bad}
		if n := len(st.Named); n > 0 {
			match = page.Span{Text: w.Glyphs.Failed + " " + timesText(st.Named), Style: bad}
		}
	case len(st.Named) > 0:
		match = page.Span{Text: w.Glyphs.OK + " " + timesText(st.Named), Style: good}
	}
	if st.Pass == timetable.First || st.Pass == timetable.Again {
		wall.Text += " " + st.Abbrev
	}
	switch {
	case len(st.Runs) > 0 && st.Pass == timetable.Missing:
		here = page.Span{Text: w.Glyphs.OK + " at " + timetable.Wall(c.At, c.After).Format("15:04"), Style: good}
	case len(st.Runs) > 0:
		here = page.Span{Text: w.Glyphs.OK + " runs", Style: good}
		if n := len(st.Runs); n > 1 {
			here.Text = fmt.Sprintf("%s %d runs", w.Glyphs.OK, n)
		}
	case len(st.Named) == 0:
	case st.Pass == timetable.Missing:
		here = page.Span{Text: "- no run", Style: dim}
	case st.Pass == timetable.First:
		here = page.Span{Text: "- later", Style: dim}
	default:
		here = page.Span{Text: "- not again", Style: dim}
	}
	return [4]page.Span{wall, {Text: st.At.UTC().Format("15:04")}, match, here}
}

// timesText returns the only matching time, or the number of matching times.
func timesText(named []time.Time) string {
	if len(named) == 1 {
		return named[0].Format("15:04")
	}
	return fmt.Sprintf("%d times", len(named))
}
