package screen

import (
	"context"
	"fmt"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
)

// DST shows what the next two changes of the clocks do to the schedule of a job.
type DST struct {
	id   job.ID
	job  *api.Job // nil: it is not known yet
	err  error
	page page
}

// NewDST makes the screen for what is selected: a job, or else all jobs to whom
// the changes do something.
func NewDST(s Subject) Screen {
	if len(s.Jobs) == 0 {
		return newAffected()
	}
	return &DST{id: s.Jobs[0]}
}

// Scope is that of changes of the clocks.
func (*DST) Scope() keys.Scope { return keys.DST }

// Heading names the job, its times and its zone.
func (s *DST) Heading(w *World) string {
	return "DST preview: " + s.about(w)
}

func (s *DST) about(w *World) string {
	text := string(s.id)
	if s.job != nil {
		text += "  " + s.startsOn() + "  " + w.zoneName(s.job.Job.Zone)
	}
	return text
}

// startsOn is what starts the job, as written.
func (s *DST) startsOn() string {
	return job.StartsOn(s.job.Job.Schedule, func(key string) string { return s.job.Job.Options[key] })
}

const slotShow = "show"

// Open asks for the job.
func (s *DST) Open(*World) []Effect {
	id := s.id
	return []Effect{Ask{slotShow, func(ctx context.Context, d Daemon) (any, error) { return d.Show(ctx, string(id)) }}}
}

// Take receives it.
func (s *DST) Take(_ *World, a Answer) []Effect {
	if s.err = a.Err; a.Err == nil {
		j := a.Value.(api.Job)
		s.job = &j
	}
	return nil
}

// Refresh asks again when the daemon has come back.
func (s *DST) Refresh(w *World) []Effect {
	if w.Link.Live && s.err != nil && api.KindOf(s.err) == api.Unreachable {
		return s.Open(w)
	}
	return nil
}

// Act scrolls, and lists the other jobs.
func (s *DST) Act(_ *World, a keys.Action) ([]Effect, bool) {
	if a == keys.AllJobs {
		return []Effect{Goto{newAffected()}}, true
	}
	return nil, s.page.act(a)
}

// Subject is the job.
func (s *DST) Subject(*World) Subject {
	subject := Subject{Jobs: []job.ID{s.id}}
	if s.job != nil {
		subject.File, subject.Line = s.job.Job.Table, s.job.Job.Line
	}
	return subject
}

// Refuses says what a page has not.
func (s *DST) Refuses(_ *World, a keys.Action) string {
	switch a {
	case keys.ShowDST:
		return "this is it; tab lists all jobs that are affected"
	case keys.PreviousRun, keys.NextRun:
		return "the changes stand below each other"
	}
	return ""
}

// Foot is the keys of the preview.
func (*DST) Foot(*World) []keys.Action {
	return []keys.Action{keys.Back, keys.AllJobs, keys.Edit, keys.Explain, keys.Palette, keys.Help, keys.Leave}
}

// Draw draws the changes, or why there is nothing to draw.
func (s *DST) Draw(v canvas.View, w *World) {
	text := s.paragraphs(w, v.Width())
	if v.Width() < fullWidth { // where the first line has no room for it
		text = append([]paragraph{said(" "+s.about(w), canvas.Style{Role: canvas.Title})}, text...)
	}
	s.page.set(text)
	s.page.draw(v, w.Glyphs)
}

func (s *DST) paragraphs(w *World, width int) []paragraph {
	switch {
	case s.err != nil && s.job == nil:
		return errorParagraphs(w, s.err)
	case s.job == nil:
		return []paragraph{said(" Asking cronringd ...", canvas.Style{Role: canvas.Off})}
	}
	zone := crontab.NewZone(w.zone(s.job.Job.Zone))
	spec, schedule := readSchedule(s.job, zone)
	changes := zone.Coming(w.Now, 2)
	switch {
	case len(changes) == 0:
		return []paragraph{said(" The clocks of "+w.zoneName(s.job.Job.Zone)+" are not changed in the next two years.", canvas.Style{})}
	case job.FieldsOf(s.startsOn()) != s.job.Job.Schedule:
		return []paragraph{said(" "+s.startsOn()+" does not go by the clock on the wall: changes of it do nothing to the job.", canvas.Style{})}
	case schedule == nil:
		return []paragraph{said(" What its times are after a change cannot be told here: they are no times of the clock, or its options do more than the time fields say. "+
			"cronring explain tells what the fields alone mean.", canvas.Style{})}
	}
	var text []paragraph
	for _, c := range changes {
		text = append(text, ruled(changeTitle(c)))
		text = append(text, changeTable(w, c, c.Around(spec, schedule), width)...)
		text = append(text, paragraph{spans: []span{{" so     ", canvas.Style{Role: canvas.Off}}, {c.Effect(spec, schedule), canvas.Style{Bold: true}}}, hang: 8})
	}
	text = append(text, ruled(""))
	text = append(text, said(" match = plain wall-clock match; here = what cronringd will do and why shows it", canvas.Style{Role: canvas.Off}))
	if delayed(s.job) {
		text = append(text, said(" each start comes later than that by jitter= or spread=", canvas.Style{}))
	}
	if s.job.Job.Options["dst"] == "" {
		command := "cronring explain " + shellWord(spec) + " --tz " + shellWord(w.zoneName(s.job.Job.Zone))
		text = append(text, said(" same text in a shell: "+command, canvas.Style{Role: canvas.Off}))
	}
	return text
}

// changeTitle says when clocks are changed, and how.
func changeTitle(c crontab.Change) string {
	verb := "fall"
	if c.Forward() {
		verb = "jump"
	}
	before, after := crontab.Wall(c.At, c.Before), crontab.Wall(c.At, c.After)
	return fmt.Sprintf("%s  clocks %s %s -> %s", before.Format("Mon 2 Jan 2006"), verb, before.Format("15:04"), after.Format("15:04"))
}

// tableFrom is the narrowest screen on which the stretches stand beside each
// other; on others they stand below each other.
const tableFrom = 78

// changeTable tells of each stretch around a change what the clock shows, when
// that is, what the fields say, and what is made of it.
func changeTable(w *World, c crontab.Change, stretches []crontab.Stretch, width int) []paragraph {
	lines := [][]span{{{text: "wall"}}, {{text: "UTC"}}, {{text: "match"}}, {{text: "here"}}}
	for i := range stretches {
		for line, cell := range stretchCells(w, c, &stretches[i]) {
			lines[line] = append(lines[line], cell)
		}
	}
	room := max((width-9)/len(stretches), 14)
	if width < tableFrom {
		lines, room = turned(append(lines[:1], lines[2:]...)), 13 // without UTC
	}
	var text []paragraph
	for _, line := range lines {
		var q paragraph
		for i, cell := range line {
			switch {
			case i == 0 && width >= tableFrom:
				q.spans = append(q.spans, span{safe.Pad(" "+cell.text, 8), canvas.Style{Role: canvas.Off}})
			case i == 0:
				q.spans = append(q.spans, span{safe.Pad(" "+cell.text, room+2), cell.style})
			case i == len(line)-1:
				q.spans = append(q.spans, cell)
			default:
				q.spans = append(q.spans, span{safe.Pad(cell.text, room), cell.style})
			}
		}
		text = append(text, q)
	}
	return text
}

// turned makes lines of columns.
func turned(lines [][]span) [][]span {
	columns := make([][]span, len(lines[0]))
	for i := range columns {
		for _, line := range lines {
			columns[i] = append(columns[i], line[i])
		}
	}
	return columns
}

// stretchCells is a stretch in four short texts.
func stretchCells(w *World, c crontab.Change, st *crontab.Stretch) [4]span {
	dim, good, bad := canvas.Style{Role: canvas.Off}, canvas.Style{Role: canvas.Good}, canvas.Style{Role: canvas.Bad, Bold: true}
	wall := span{text: st.Wall.Format("15:04")}
	match, here := span{".", dim}, span{".", dim}
	switch {
	case st.Pass == crontab.Missing:
		wall = span{"[" + st.Wall.Format("15:04") + "-" + st.End.Format("15:04") + "]", bad}
		if n := len(st.Named); n > 0 {
			match = span{w.Glyphs.Failed + " " + timesText(st.Named), bad}
		}
	case len(st.Named) > 0:
		match = span{w.Glyphs.OK + " " + timesText(st.Named), good}
	}
	if st.Pass == crontab.First || st.Pass == crontab.Again {
		wall.text += " " + st.Abbrev
	}
	switch {
	case len(st.Runs) > 0 && st.Pass == crontab.Missing:
		here = span{w.Glyphs.OK + " at " + crontab.Wall(c.At, c.After).Format("15:04"), good}
	case len(st.Runs) > 0:
		here = span{w.Glyphs.OK + " runs", good}
		if n := len(st.Runs); n > 1 {
			here.text = fmt.Sprintf("%s %d runs", w.Glyphs.OK, n)
		}
	case len(st.Named) == 0:
	case st.Pass == crontab.Missing:
		here = span{"- no run", dim}
	case st.Pass == crontab.First:
		here = span{"- later", dim}
	default:
		here = span{"- not again", dim}
	}
	return [4]span{wall, {text: st.At.UTC().Format("15:04")}, match, here}
}

// timesText is the one time that the fields name, or how many they name.
func timesText(named []time.Time) string {
	if len(named) == 1 {
		return named[0].Format("15:04")
	}
	return fmt.Sprintf("%d times", len(named))
}
